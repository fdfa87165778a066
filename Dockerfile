# The image of the action. The base is a stage of its own, since Dependabot updates no digest in an argument; the argument
# is there so that another base can be named where no registry is reachable.
ARG BASE_IMAGE=base
FROM python:3.11-slim@sha256:db3ff2e1800a8581e2c48a27c3995339d47bdf046da21c7627accd3d51053a93 AS base

# What only building needs stays behind in this stage: Debian's git with its Perl, pip, headers, tests, symbols of
# extension modules (not of the libraries that wheels bring, whose layout strip may break).
FROM ${BASE_IMAGE} AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils git \
    && rm -rf /var/lib/apt/lists/* \
    && dpkg-query --status git > /git.status

# The dependencies change seldom: a layer of their own.
COPY requirements/run.txt /turncheck/requirements/run.txt
RUN python -m venv /opt/turncheck \
    && /opt/turncheck/bin/pip install --no-cache-dir --require-hashes -r /turncheck/requirements/run.txt \
    && find /opt/turncheck -type d -name tests -path "*-packages/*" -prune -exec rm -rf {} + \
    && rm -rf /opt/turncheck/lib/python*/site-packages/matplotlib/mpl-data/sample_data \
        /opt/turncheck/lib/python*/site-packages/matplotlib/mpl-data/fonts/afm \
        /opt/turncheck/lib/python*/site-packages/matplotlib/mpl-data/fonts/pdfcorefonts \
        /opt/turncheck/lib/python*/site-packages/sklearn/datasets/data \
        /opt/turncheck/lib/python*/site-packages/sklearn/datasets/images \
    && find /opt/turncheck \( -name "*.pyi" -o -name "*.pxd" -o -name "*.h" -o -name "*.a" \) -delete \
    && find /opt/turncheck -name "*.so" -not -path "*.libs/*" -exec strip --strip-unneeded {} +

COPY pyproject.toml hatch_build.py README.md LICENSE /turncheck/
COPY docs/*.schema.json /turncheck/docs/
COPY templates /turncheck/templates
COPY skills /turncheck/skills
COPY src /turncheck/src
RUN /opt/turncheck/bin/pip install --no-cache-dir --no-deps --no-build-isolation /turncheck \
    && /opt/turncheck/bin/pip uninstall --yes hatchling trove-classifiers pathspec pluggy setuptools pip
COPY tools/notices.py /turncheck/tools/notices.py
RUN /opt/turncheck/bin/python -I /turncheck/tools/notices.py > /opt/turncheck/THIRD-PARTY-NOTICES.txt

FROM ${BASE_IMAGE}
# What git needs to fetch by HTTPS.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libcurl3-gnutls \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY --from=build /opt/turncheck /opt/turncheck
# git reads the base of a change from a checkout, or fetches its commit: these two files do both.
COPY --from=build /usr/bin/git /usr/bin/git
COPY --from=build /usr/lib/git-core/git-remote-http /usr/lib/git-core/git-remote-http
# Its licence, and the entry by which scanners know that it is here.
COPY --from=build /usr/share/doc/git/copyright /usr/share/doc/git/copyright
COPY --from=build /git.status /var/lib/dpkg/status.d/git
RUN ln -s git-remote-http /usr/lib/git-core/git-remote-https && git --version && /opt/turncheck/bin/turncheck --version
# Last: python and pip stay those of the base image, for what a job itself installs (an action server, say).
ENV PATH=${PATH}:/opt/turncheck/bin

# No USER and no WORKDIR: the runner's workspace belongs to another user, and the runner chooses the folder.
# The exec form starts Python itself: a shell would drop variables such as INPUT_FAIL-ON. -I: nothing in the workspace
# (a yaml.py in a pull request, say) can stand in for one of our modules.
ENTRYPOINT ["/opt/turncheck/bin/python", "-I", "-m", "turncheck", "action"]
