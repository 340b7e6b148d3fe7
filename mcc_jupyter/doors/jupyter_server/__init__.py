"""The door for the Jupyter server: ``/mcc/api`` (SPEC 13.1). ``docs/server.md`` describes it from outside."""
