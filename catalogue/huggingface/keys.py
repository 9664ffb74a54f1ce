"""Names that configs give to one thing, and keys that say nothing about what a decode step costs."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# role: the keys that state it, most common first; nested keys are joined by a dot
SYNONYMS: dict[str, tuple[str, ...]] = {
    "hidden": ("hidden_size", "n_embd", "d_model", "n_embed", "dim", "model_dim"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers"),
    "vocabulary": ("vocab_size", "padded_vocab_size", "n_vocab"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "num_query_heads"),
    "kv_heads": (
        "num_key_value_heads", "n_kv_heads", "num_kv_heads", "n_head_kv", "num_attention_groups",
        "multi_query_group_num", "attn_config.kv_n_heads", "num_key_value_groups_total",
    ),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels", "head_size", "d_kv", "d_head"),
    "value_dim": ("v_head_dim",),
    "width": (
        "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "hidden_dim", "d_ff",
        "ffn_config.ffn_hidden_size",
    ),
    "dense_width": ("dense_intermediate_size", "intermediate_size_mlp"),
    "max_position": (
        "max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "max_sequence_length",
        "n_ctx", "max_seq_length", "model_max_length",
    ),
    "epsilon": (
        "rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "layernorm_epsilon", "norm_eps",
        "norm_epsilon",
    ),
    "activation": (
        "hidden_activation", "hidden_act", "activation_function", "mlp_hidden_act",
        "ffn_config.ffn_act_fn.name", "activation",
    ),
    "theta": ("rope_theta", "rotary_emb_base", "rope_base", "attn_config.rope_theta", "rotary_base"),
    "rotary_dims": ("rotary_dim", "rope_dim"),
    "rotary_share": ("partial_rotary_factor", "rotary_pct", "rope_pct", "rope_ratio_dims"),
    "tied": ("tie_word_embeddings", "tied_embeddings", "use_embedding_sharing"),
    "window": ("sliding_window", "sliding_window_size", "attn_config.sliding_window"),
    "window_period": ("sliding_window_pattern", "_sliding_window_pattern", "layer_switch"),
    "dtype": ("torch_dtype", "dtype"),
    "experts": (
        "n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts", "num_moe_experts",
        "ffn_config.moe_num_experts", "moe.num_experts",
    ),
    "experts_chosen": (
        "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "moe_top_k", "moe_k",
        "top_k_experts", "num_selected_experts", "ffn_config.moe_top_k", "moe.num_experts_per_tok",
        "num_experts_chosen",
    ),
    "expert_width": (
        "moe_intermediate_size", "expert_ffn_hidden_size", "expert_intermediate_size", "moe_ffn_hidden_size",
        "moe.expert_hidden_dim",
    ),
    "shared_count": (
        "n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts",
        "moe.num_shared_experts",
    ),
    "shared_width": (
        "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size",
        "share_expert_dim",
    ),
    "expert_latent": ("moe_latent_size", "routed_expert_hidden_size"),
    "identity_experts": ("zero_expert_num", "num_zero_experts", "num_identity_experts"),
    "dense_first": ("first_k_dense_replace", "moe.first_k_dense_replace", "num_dense_layers"),
    "score": (
        "scoring_func", "score_function", "moe_router_activation_func", "moe_router_activation",
        "router_activation", "score_func",
    ),
    "groups": ("n_group", "num_expert_group", "moe.num_expert_groups"),
    "keep": ("topk_group", "moe.num_expert_groups_per_tok"),
    "normalise": (
        "norm_topk_prob", "moe_renormalize", "norm_expert_weight", "moe_router_norm_topk_prob",
    ),
    "scale": (
        "routed_scaling_factor", "moe_router_scaling_factor", "router_scaling_factor", "moe.routed_scale",
        "route_scale",
    ),
    "correction": (
        "use_routing_bias", "moe_router_enable_expert_bias", "use_moe_router_bias", "moe_use_aux_free",
        "moe_router_use_expert_bias", "use_expert_bias",
    ),
    "drafts": ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "mtp_num_layers"),
    "mamba_heads": ("mamba_num_heads", "mamba_n_heads", "n_mamba_heads"),
    "mamba_head_dim": ("mamba_head_dim", "mamba_d_head", "mamba_headdim"),
    "mamba_state": ("ssm_state_size", "mamba_d_state", "mamba_state_dim", "state_size"),
    "mamba_groups": ("n_groups", "mamba_n_groups", "mamba_ngroups"),
    "mamba_conv": ("conv_kernel", "mamba_d_conv", "conv_kernel_size"),
    "mamba_conv_bias": ("use_conv_bias", "mamba_conv_bias"),
    "mamba_bias": ("mamba_proj_bias", "use_bias"),
    "block_pattern": ("hybrid_override_pattern", "layers_block_type"),
    "draft_pattern": ("mtp_hybrid_override_pattern", "mtp_layers_block_type"),
}  # fmt: skip

# Keys that scale or clip values: they change what is computed, not how much.
VALUES_ONLY = _words(
    """residual_multiplier embedding_multiplier logits_scaling logit_scale logits_multiplier scale_emb
    scale_depth dim_model_base attention_value_scale final_logit_softcapping attn_logit_softcapping
    final_logit_soft_cap clip_qkv attn_config.clip_qkv mup_multiplier mlp_multipliers ssm_multipliers
    key_multiplier lm_head_multiplier attention_in_multiplier attention_out_multiplier ssm_in_multiplier
    ssm_out_multiplier embedding_multiplier_scale output_multiplier_scale attn_temperature_tuning attn_scale
    floor_scale layernorm_full_attention_alpha layernorm_full_attention_beta layernorm_linear_attention_alpha
    layernorm_linear_attention_beta layernorm_mlp_alpha layernorm_mlp_beta emb_scale rescale_every
    linear_attn_config.gate_lower_bound activation_sparsity_pattern llama_4_scaling
    resid_mup_scale output_gate_type attn_output_gate_type scale_attn_by_inverse_layer_idx
    swiglu_limits swiglu_limits_shared mup_denominator attn_output_multiplier max_attn_value mup_base_width
    use_gemma_norm postnorm zero_centered layer_norm_rms
    """
)

_IRRELEVANT = _words(
    """architectures auto_map transformers_version use_cache initializer_range init_std initializer_std
    initializer_cutoff_factor is_decoder is_encoder_decoder add_cross_attention bad_words_ids do_sample
    early_stopping length_penalty max_length min_length num_beams num_beam_groups num_return_sequences
    output_attentions output_hidden_states output_scores prefix problem_type pruned_heads id2label label2id
    remove_invalid_values repetition_penalty return_dict return_dict_in_generate task_specific_params
    temperature tf_legacy_loss tokenizer_class top_k top_p torchscript typical_p use_bfloat16 suppress_tokens
    begin_suppress_tokens chunk_size_feed_forward cross_attention_hidden_size diversity_penalty
    encoder_no_repeat_ngram_size no_repeat_ngram_size exponential_decay_length_penalty finetuning_task
    tie_encoder_decoder forced_bos_token_id forced_eos_token_id ignore_index pretraining_tp
    tensor_parallel ep_size aux_loss_alpha seq_aux router_aux_loss_coef router_z_loss_coef
    router_jitter_noise output_router_logits aux_loss_weight moe_loss_weight moe_aux_loss_coeff
    input_jitter_noise capacity_factor moe_router_aux_loss_coef attn_implementation _attn_implementation
    _attn_implementation_autoset num_logits_to_keep use_mamba_kernels mamba_chunk_size chunk_size
    time_step_floor time_step_limit time_step_max time_step_min time_step_rank mamba_dt_max mamba_dt_min
    mamba_dt_init_floor mamba_hidden_act mamba_ssm_cache_dtype mamba_ssm_dtype residual_in_fp32
    rescale_prenorm_residual rope_interleave indexer_rope_interleave mrope_section use_flash_attn
    use_flash_attention flash_attn_bf16 fused_bias_fc fused_dropout_add_ln fused_mlp softmax_scale
    unk_index source precision model_type moe_router_dtype fp32_residual_connection apply_residual_connection
    apply_residual_connection_post_layernorm initial_context_length original_max_position_embeddings
    max_window_layers cache_implementation hidden_dropout dropout seed train_batch_size embd_pdrop
    resid_pdrop attn_pdrop summary_type summary_use_proj summary_activation summary_first_dropout
    summary_proj_to_labels scale_attn_weights reorder_and_upcast_attn gradient_checkpointing
    rope_local_base_freq rope_local_theta swa_rope_theta global_rope_theta local_rope_theta sep_token_id
    rope_interleaved use_bidirectional_attention mm_hidden_size tokenizer_vocab_size max_batch_size
    name_or_path quantization_config need_fp32_gate mtp_use_dedicated_embeddings use_qk_norm_in_mtp
    index_share_for_mtp_iteration moe_shared_expert_overlap num_hidden_layers_with_mtp use_parallel_embedding
    attention_softmax_in_fp32 multi_query_attention fp32_lm_head router_dtype qk_head_dim use_grouped_topk
    kv_lora_rank_scale attn_temperature use_unified_vision_chunk training_dtype base_model_tp_plan
    onnx_safe quantization_config_file alignment moe_dropless dropless expert_parallel moe_group
    moe_world_size embedding_dropout_prob sliding_window_pattern_source weight_tying use_cuda_kernels
    yarn_only_types bias_dropout_fusion masked_softmax_fusion use_logits_scaling hidden_size_original
    moe_config_name interpolate_factor position_embedding_base inference_config rms_norm softmax_in_fp32
    rmsnorm use_mixed_mlp_moe full_attn_mod for_llm_compressor embedding_dropout output_dropout rotary_type
    use_rmsnorm norm_head norm_softmax using_split_qkv_in_self_attention mtp_loss_scaling_factor mlp_type
    norm_type normalization_function init_method use_gated_activation use_parallel_block
    order_of_interleaved_layers residual_dropout activation_dropout layerdrop do_layer_norm_before
    offset_alibi skip_bias_add skip_bias_add_qkv slow_but_exact gated_linear_unit downsample_ratio
    dynamic_image_size force_image_size max_dynamic_patch min_dynamic_patch pad2square ps_version
    select_layer template use_backbone_lora use_llm_lora use_thumbnail system_message spatial_merge_size
    multimodal_projector_bias candidate_resolutions global_view_pos tile_tag projector_config
    mm_tokens_per_image understand_projector_stride projector_bias patch_token_len use_im_start_end
    allgather_dtype att_impl_type partial_rotary_factors apply_query_key_layer_scaling original_rope
    post_layer_norm pre_seq_len prefix_projection classifier_dropout z_loss_weight z_loss_coefficient
    embedding_fraction learned_pos_emb init_config verbose no_bias attn_rotary_emb mamba_use_mlp
    mamba_norm_before_gate mamba_rms_norm mlp_expansion_factor attention_method zero_expert_type
    enable_expert_tensor_parallelism moe_eval_capacity_factor moe_train_capacity_factor moe_token_dropping
    moe_min_capacity fuse_rms_norm fuse_attention_qkv fuse_attention_ffn moe_gate moe_gate_act moe_capacity
    moe_use_hard_gate moe_multimodal_dispatch_use_allgather moe_orthogonal_loss_lambda
    moe_reverse_token_drop moe_all_to_all_dropout moe_group_experts moe_group_orthogonal_loss
    moe_layer_feed_fake_token moe_aux_loss_lambda moe_norm_gate_logits moe_dropout_prob moe_norm_min
    multi_token_pred_lambda compression_ratio freq_allocation rope_3d scale_qk_coeff global_aux_loss
    weight_share_add_bias micro_batch_size sinkhorn_2gate sinkhorn_temp token_balance_loss
    token_balance_seqlen im_patch_id disable_ffn_model_parallel pixel_hidden_size rope_reorder
    tensor_parallel_output pp_seg_method think_mode use_recompute_moe recompute recompute_granularity
    moe_drop_tokens moe_random_routing_dropped_token mask_init_id num_media_embeds pool_type class_num
    dense_list skip_cls_token text_end_id text_start_id use_rotary_pos_emb add_classification_head
    im_start_id im_end_id org_vocab_size eod_token_id position_embedding_xdrope group_limited_greedy
    attn_config.attn_impl attn_config.alibi_bias_max attn_config.prefix_lm attn_config.softmax_scale
    attn_config.model_type ffn_config.model_type attn_config.attn_type attn_config.attn_uses_sequence_id
    attn_config.attn_pdrop head_dtype lora_rank model_name checkpoint_version config_version
    is_causal sub_configs keys_to_ignore_at_inference nextn_is_sparse nextn_loss_weight hidden_act_param
    special_image_token_id resampler query_num batch_vision_input drop_vision_last_layer slice_mode
    
    """
)
_IRRELEVANT_FORM = re.compile(
    r"^_|_token_ids?$|_token_index$|_dropout$|_pdrop$|dropout_prob$|_loss(_|$)|_loss_coef$|_loss_weight$"
    r"|(^|[._])(vision|visual|audio|image|video|speech|mm|projector|vit|img|talker|code2wav|media)(_|$)"
    r"|^(boi|eoi|boa|eoa)_|^rope_scaling|^rope_parameters|_init$|^init_|initializer|^yarn\."
    r"|^quantization|^recompute|^anyres|^moe_.*_loss|_loss_lambda$|^generation_config|placeholder"
)


def irrelevant(key: str) -> bool:
    """Whether the key says nothing that a decode step of the language model depends on."""
    return key in _IRRELEVANT or key.split(".")[0] in _IRRELEVANT or bool(_IRRELEVANT_FORM.search(key))


# Keys under which multimodal configs keep their language model, outermost first.
TEXT_PARTS = ("thinker_config", "text_config", "llm_config", "language_config", "language_model_config")
