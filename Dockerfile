# The image of the action. The base is a build argument so that it can be replaced where no registry is reachable.
ARG BASE_IMAGE=python:3.11-slim

# What only building needs stays behind in this stage: Debian's git with its Perl, pip, headers, tests, symbols of
# extension modules (not of the libraries that wheels bring, whose layout strip may break).
FROM ${BASE_IMAGE} AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils git \
    && rm -rf /var/lib/apt/lists/*

# The dependencies change seldom: a layer of their own.
COPY requirements/run.txt /turncheck/requirements/run.txt
RUN python -m venv /opt/turncheck \
    && /opt/turncheck/bin/pip install --no-cache-dir --require-hashes -r /turncheck/requirements/run.txt \
    && find /opt/turncheck -type d -name tests -path "*-packages/*" -prune -exec rm -rf {} + \
    && find /opt/turncheck \( -name "*.pyi" -o -name "*.pxd" -o -name "*.h" -o -name "*.a" \) -delete \
    && find /opt/turncheck -name "*.so" -not -path "*.libs/*" -exec strip --strip-unneeded {} +

COPY pyproject.toml hatch_build.py README.md LICENSE /turncheck/
COPY docs/*.schema.json /turncheck/docs/
COPY templates /turncheck/templates
COPY src /turncheck/src
RUN /opt/turncheck/bin/pip install --no-cache-dir --no-deps --no-build-isolation /turncheck \
    && /opt/turncheck/bin/pip uninstall --yes hatchling trove-classifiers pathspec pluggy setuptools pip

FROM ${BASE_IMAGE}
# What git needs to fetch by HTTPS.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libcurl3-gnutls \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/turncheck /opt/turncheck
# git reads the base of a change from a checkout, or fetches its commit: these two files do both.
COPY --from=build /usr/bin/git /usr/bin/git
COPY --from=build /usr/lib/git-core/git-remote-http /usr/lib/git-core/git-remote-http
RUN ln -s git-remote-http /usr/lib/git-core/git-remote-https && git --version && /opt/turncheck/bin/turncheck --version
# Last: python and pip stay those of the base image, for what a job itself installs (an action server, say).
ENV PATH=${PATH}:/opt/turncheck/bin

# No USER and no WORKDIR: the runner's workspace belongs to another user, and the runner chooses the folder.
# The exec form starts Python itself: a shell would drop variables such as INPUT_FAIL-ON. -I: nothing in the workspace
# (a yaml.py in a pull request, say) can stand in for one of our modules.
ENTRYPOINT ["/opt/turncheck/bin/python", "-I", "-m", "turncheck", "action"]
