# The service and its workers; `docker-compose.yml` runs both from this image.
FROM python:3.13-slim

WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY rooflang rooflang
COPY catalogue catalogue
COPY evaluator evaluator
COPY mutations mutations
COPY db db
COPY migrations migrations
COPY agent agent
COPY server server
COPY seis seis
RUN pip install --no-cache-dir --constraint constraints.txt setuptools \
 && pip install --no-cache-dir --constraint constraints.txt --no-build-isolation ".[postgres]" \
 && useradd --create-home seis

USER seis
WORKDIR /home/seis
EXPOSE 8000
STOPSIGNAL SIGTERM
CMD ["seis", "serve"]
