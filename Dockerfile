# Build: docker build -t benchtui .
# Run:   docker run --rm -it --gpus all --pid host --user "$(id -u):$(id -g)" -v "$PWD:/work" benchtui run quick -o /work/session.json
# --pid host lets benchtui see which other processes use the GPU; --user makes the session's file yours.
# Another base needs a torch of its own; `docker buildx imagetools inspect IMAGE:TAG` prints the digest of an image.
ARG BASE=pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime@sha256:417bd75df6365104c283ea4c1651fb3530d9eb5a4c2fafa51943cff2a94e6385
FROM ${BASE}

WORKDIR /opt/benchtui
COPY . .
# everything but torch, whose version is that of the image, has the version that benchtui is tested with
RUN { grep -v '^torch==' constraints.txt; \
      python -c 'from importlib.metadata import version; print(f"torch=={version(\"torch\")}")'; } > /tmp/constraints.txt \
    && python -m pip install --no-cache-dir -c /tmp/constraints.txt '.[run]' \
    && rm /tmp/constraints.txt

# any user may write here, because --user may name one that the image doesn't know; USER saves torch from looking up its name
RUN mkdir -m 1777 /home/benchtui
ENV HOME=/home/benchtui USER=benchtui
USER 1000:1000

WORKDIR /work
ENTRYPOINT ["benchtui"]
CMD ["--help"]
