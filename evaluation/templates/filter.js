const form = document.getElementById("filter");
if (form) {
  const dialogues = [...document.querySelectorAll("#transcripts > details")];
  const apply = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const words = (wanted.text || "").toLowerCase();
    let count = 0;
    for (const dialogue of dialogues) {
      const shown = (!wanted.outcome || dialogue.dataset.outcome === wanted.outcome)
        && (!wanted.run || dialogue.dataset.run === wanted.run)
        && (!words || dialogue.textContent.toLowerCase().includes(words));
      dialogue.hidden = !shown;
      count += shown;
    }
    form.elements.count.value = `${count} shown`;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
}
