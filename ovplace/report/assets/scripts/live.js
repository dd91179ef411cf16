"use strict";

// Following a search: the data are asked for again and again, the chart is the report's.
const Live = {
  EVERY_MS: 5000, // each answer reads the run's database, a few ms that a measurement may notice

  start() {
    this.ask();
    setInterval(() => this.ask(), this.EVERY_MS);
  },

  async ask() {
    try {
      const answer = await fetch("/data.json");
      if (answer.ok) this.show(await answer.json());
    } catch {
      document.getElementById("state").textContent = "the server has ended";
    }
  },

  show({ begun, running, finished, caution, history }) {
    const [trials, best] = [history.ratio.length, history.best.at(-1)];
    const ended = finished ? "finished" : begun ? "stopped" : "waiting for the run to begin";
    document.getElementById("state").textContent = running ? "running" : ended;
    document.getElementById("finished").hidden = running || !finished;
    document.getElementById("caution").hidden = !caution;
    document.getElementById("caution").textContent = caution;
    if (!trials) return;
    const ratio = best === null ? "none has worked" : `the best takes ${(100 * best).toFixed(0)} % of ${history.reference}'s time`;
    document.getElementById("summary").textContent = `${Format.count(trials, "placement")} asked for by ${history.placer}, ${ratio}.`;
    DATA.history = history;
    Charts.draw();
  },
};
