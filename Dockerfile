# docker build -t sfumato .
# docker build -t sfumato --build-arg EXTRAS=attack,charts,train .
# docker build -t sfumato-service --build-arg EXTRAS=service,postgres .    (compose.yaml runs it)
# docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" sfumato privatize in.txt -o out.txt --epsilon 5
FROM python:3.11-slim

# A comma-separated list of extras (pyproject.toml names them); empty is the core alone.
ARG EXTRAS=""

# Build environments, too, follow the constraints.
ENV PIP_CONSTRAINT=/sfumato/constraints.txt \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1

WORKDIR /sfumato
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN python -m pip install ".${EXTRAS:+[$EXTRAS]}"

# Who reads private text should be nobody in particular: no root, no home to leave something in.
RUN useradd --no-create-home --shell /usr/sbin/nologin sfumato \
    && mkdir /data \
    && chown sfumato /data
USER sfumato
WORKDIR /data

ENTRYPOINT ["sfumato"]
