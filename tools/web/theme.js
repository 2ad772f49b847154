// Light or dark: as the system says, until the button is pressed.
function themeButton() {
  const KEY = "doppio-theme";
  const systems = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  // A page from a file may have no storage.
  const stored = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const store = (theme) => { try { localStorage.setItem(KEY, theme); } catch { /* for this visit only */ } };
  const button = html("button", {type: "button", class: "theme", onclick: () => {
    const next = current() === "dark" ? "light" : "dark";
    store(next);
    show(next);
  }});
  const current = () => document.documentElement.dataset.theme || systems();
  function show(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    const other = current() === "dark" ? "Light" : "Dark";
    button.textContent = other === "Dark" ? "☾" : "☀";
    button.title = `${other} colours`;
    button.setAttribute("aria-label", `${other} colours`);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(stored()));
  show(stored());
  return button;
}
