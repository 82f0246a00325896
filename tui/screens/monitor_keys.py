"""The keys of the Monitor, by the id under which a user can map them anew."""

from textual.binding import Binding, BindingType


def _key(keys: str, name: str, action: str, does: str, about: str = "") -> Binding:
    return Binding(keys, action, does, id=f"monitor.{name}", show=False, tooltip=about)


KEYS: list[BindingType] = [
    _key("q", "quit", "ask_quit", "Quit, or ask how", "while the sweep runs: detach (it goes on) or stop it"),
    Binding("ctrl+q,ctrl+c", "ask_quit", "Quit, or ask how", show=False),
    _key("d", "detach", "detach", "Detach", "leave the screen, the sweep goes on; benchtui attach shows it"),
    _key("X", "stop", "ask_stop", "Stop the sweep", "after a question; what was measured is kept"),
    _key("P", "pause", "engine('pause')", "Pause, or go on", "what runs is finished, no other case starts"),
    _key("x", "skip", "engine('skip')", "Skip a running case", "the chosen one, else the newest"),
    _key("r", "again", "engine('again')", "Run again", "the chosen case, once it has ended"),
    _key("delete,backspace", "drop", "engine('drop')", "Drop a pending case", "the chosen one"),
    _key("K", "earlier", "engine('earlier')", "Earlier in the queue", "the chosen pending case"),
    _key("J", "later", "engine('later')", "Later in the queue", "the chosen pending case"),
    _key("a", "add", "ask('add')", "Add a case", "options on top of the chosen case's: batch_size=64"),
    _key("R", "replay", "replay", "Replay", "what has been recorded, from its beginning"),
    _key("e", "edit", "edit", "Edit this sweep", "as a new one, in the first place"),
    _key("down,j,l,right", "down", "move(1)", "Next case", "the upper part shows it"),
    _key("up,k,h,left", "up", "move(-1)", "Previous case"),
    _key("pagedown", "page_down", "move(10)", "Ten cases on"),
    _key("pageup", "page_up", "move(-10)", "Ten cases back"),
    _key("home,g", "first", "move(-1000000)", "First case"),
    _key("end,G", "last", "move(1000000)", "Last case"),
    _key("enter", "detail", "open('detail')", "All about a case", "the chosen one, or the one shown"),
    _key("escape", "back", "back", "Back", "one step: from a question, a panel, a filter, a chosen case"),
    _key("s", "sort", "table('sort')", "Sort by the next column", "cases that run stay on top"),
    _key("S", "reverse", "table('reverse')", "Turn the order round"),
    _key("slash", "filter", "ask('filter')", "Filter cases", "all words have to be there: cuda fp16 oom"),
    _key("n", "next", "table('next')", "Next match", "after the last one the first"),
    _key("N", "previous", "table('previous')", "Match before"),
    _key("c", "columns", "open('columns')", "Choose columns", "which are shown, and in what order; remembered"),
    _key("z", "zoom", "view('zoom')", "Zoom a panel", "and back"),
    _key("tab", "panel", "view('next')", "Next panel", "band, histogram, machine, parts, cases, log"),
    _key("shift+tab", "panel_before", "view('previous')", "Panel before"),
    _key("H", "histogram", "view('histogram')", "Histogram, or band", "how many steps took how long"),
    _key("space", "freeze", "freeze", "Freeze the display", "the sweep goes on"),
    _key("plus,equals_sign", "faster", "pace('faster')", "Draw more often"),
    _key("minus", "slower", "pace('slower')", "Draw less often"),
    _key("Q", "quiet", "pace('quiet')", "Quiet, or not", "once a second while a case is measured"),
    _key("D", "cost", "cost", "What the screen costs"),
    _key("y", "copy_row", "open('row')", "Copy the row as markdown", "to the clipboard, over SSH too"),
    _key("Y", "copy_report", "open('report')", "Copy the report as markdown"),
    _key("E", "export", "ask('export')", "Export the report", "to a markdown file"),
    _key("question_mark,f1", "help", "open('help')", "Help"),
]
