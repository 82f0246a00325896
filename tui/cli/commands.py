"""Table of the commands, which imports none of them."""

COMMANDS = {
    "anonymize": (
        "export",
        "anonymize",
        "Write a copy of a session without what tells where it was measured.",
    ),
    "attach": ("watch", "attach", "Watch a running sweep."),
    "cache": ("setup", "cache", "List or remove the models that were converted for other runtimes."),
    "compare": ("compare", "compare", "Compare sessions case by case."),
    "completion": ("setup", "completion", "Print a shell completion script, or install it."),
    "continue": ("engine", "unpause", "Continue a paused sweep."),
    "demo": ("watch", "demo", "Replay a bundled demo session."),
    "doctor": ("setup", "doctor", "Check what this machine can measure."),
    "explain": (
        "explain.command",
        "explain",
        "Profile measured cases again, and say where the time of their steps goes.",
    ),
    "export": (
        "export",
        "export",
        "Export the report, results, steps or a trace of a session, or a comparison of several.",
    ),
    "find": (
        "advice.find",
        "find",
        "Find the best configuration of a model on this machine within a time limit.",
    ),
    "import": ("import_results", "import_results", "Convert the results of another tool to a session."),
    "init-step": ("setup", "init_step", "Write a training step of your own to start from."),
    "keys": ("setup", "keys", "List all key bindings, with the action IDs to remap them in config.toml."),
    "next": (
        "advice.next",
        "decide_next",
        "Say what would decide the open questions of a session, and write it as a sweep.",
    ),
    "optimal": (
        "advice.optimal",
        "optimal",
        "Recommend which of the measured cases to run, and how certain that is.",
    ),
    "pause": ("engine", "pause", "Pause a running sweep once its current cases have finished."),
    "plan": ("run", "plan", "Show what a sweep would measure, without starting it."),
    "replay": ("watch", "replay", "Replay a recorded session."),
    "reproduce": (
        "run",
        "reproduce",
        "Run a session again, and compare the results.",
    ),
    "run": ("run", "run", "Run a sweep without the app, or resume one that was stopped or crashed."),
    "schema": (
        "schema.command",
        "schema",
        "Print the JSON Schema of a command's --json, or of a file; or check a file against it.",
    ),
    "sessions": (
        "sessions",
        "sessions",
        "List recorded and running sessions; rename, annotate, delete or add one.",
    ),
    "slurm": ("slurm", "slurm", "Print or submit a Slurm batch script that runs a sweep."),
    "stop": ("engine", "stop", "Stop a running sweep."),
    "themes": ("setup", "list_themes", "List the color themes of the app and their sources."),
}
"""Module, attribute and summary of each command.

The summary is the first sentence of the command's own help. Repeating it here avoids importing every command.
"""
