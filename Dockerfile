# Build: docker build -t benchtui .
# Run:   docker run --rm -it --gpus all --pid host -v "$PWD:/work" benchtui run quick -o /work/session.json
# --pid host lets benchtui see which other processes use the GPU.
ARG BASE=pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime
FROM ${BASE}

WORKDIR /opt/benchtui
COPY . .
# the image's own torch stays: pip finds it installed
RUN pip install --no-cache-dir '.[run]'

WORKDIR /work
ENTRYPOINT ["benchtui"]
CMD ["--help"]
