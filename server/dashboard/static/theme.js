// The chosen theme, before anything is painted; the one script that is not a module.
{
  const chosen = localStorage.getItem("seis-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
}
