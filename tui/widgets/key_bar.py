"""Key bar at the bottom: the keys available now, as mapped by the user."""

from benchtui.themes.symbols import Symbols
from benchtui.tui.shell.keymap import active, bound, shown
from benchtui.tui.widgets.keys import Keys, key_lines
from benchtui.tui.widgets.panel import Panel


class KeyBar(Panel[Keys]):
    """Panel that takes default key names and shows the mapped ones."""

    def __init__(self, symbols: Symbols) -> None:
        super().__init__(key_lines, symbols, id="keys")
        self._shown: Keys | None = None

    def show(self, keys: Keys, fixed: bool = False) -> None:
        """Show the keys available now. Fixed ones, such as answers, are never remapped."""
        if keys != self._shown:
            self._shown = keys
            super().show(keys if fixed else self._mapped(keys))

    def _mapped(self, keys: Keys) -> Keys:
        """Replace default keys with mapped ones; ``n p`` are two keys."""
        names = self._names()
        return tuple((" ".join(names.get(part, part) for part in key.split(" ")), does) for key, does in keys)

    def _names(self) -> dict[str, str]:
        """Return the mapped key for each default key that was remapped."""
        now = {binding.id: binding.keys.split(",") for binding in active(self.screen)}
        names: dict[str, str] = {}
        for binding in bound(type(self.screen), type(self.app)):
            keys = now.get(binding.id, ())
            names |= {shown(key): shown(keys[0]) for key in binding.keys.split(",") if keys and key not in keys}
        if not names.keys().isdisjoint(("up", "down")):
            names[self._symbols.arrows] = " ".join(names.get(binding, binding) for binding in ("up", "down"))
        return names
