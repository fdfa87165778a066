# The image of the action. The base is a build argument so that it can be replaced where no registry is reachable.
ARG BASE_IMAGE=python:3.11-slim
FROM ${BASE_IMAGE}

# git reads the base branch of a checkout, for the comparison; nothing else of Debian is needed.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*

# The dependencies change seldom: a layer of their own.
COPY requirements/run.txt /turncheck/requirements/run.txt
RUN pip install --no-cache-dir --require-hashes -r /turncheck/requirements/run.txt \
    && find / -xdev -type d -name tests -path "*-packages/*" -prune -exec rm -rf {} +

COPY pyproject.toml hatch_build.py README.md LICENSE /turncheck/
COPY docs/*.schema.json /turncheck/docs/
COPY templates /turncheck/templates
COPY src /turncheck/src
RUN pip install --no-cache-dir --no-deps --no-build-isolation /turncheck

# No USER and no WORKDIR: the runner's workspace belongs to another user, and the runner chooses the folder.
# The exec form starts Python itself: a shell would drop variables such as INPUT_FAIL-ON. -I: nothing in the workspace
# (a yaml.py in a pull request, say) can stand in for one of our modules.
ENTRYPOINT ["/usr/local/bin/python", "-I", "-m", "turncheck", "action"]
