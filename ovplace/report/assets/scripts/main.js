"use strict";

Theme.start();
Charts.start();
if (document.getElementById("graph")) GraphView.start();
if (document.getElementById("live")) Live.start();
document.getElementById("copy")?.addEventListener("click", async ({ target }) => {
  const command = document.getElementById("command");
  try {
    await navigator.clipboard.writeText(command.textContent);
    target.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(command); // some browsers let no file write to the clipboard
  }
});
