"""The container's entrypoint: inputs and GitHub context in, job, publishing."""
