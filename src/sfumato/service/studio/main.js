// The studio begins here: each part of the page is set up, then the service is asked who we are.

import { startBudget } from "./budget.js";
import { startChoices } from "./choices.js";
import { startCompare } from "./compare.js";
import { startCorrections } from "./corrections.js";
import { startGuarantee } from "./guarantee.js";
import { startLevel } from "./level.js";
import { startMarks } from "./marks.js";
import { startPreview } from "./preview.js";
import { startRelease } from "./release.js";
import { startSession } from "./session.js";
import { startSticky } from "./sticky.js";
import { startTake } from "./take.js";
import { startText } from "./text.js";
import { startWord } from "./word.js";

for (const start of [
  startText, startCorrections, startChoices, startLevel, startPreview, startMarks, startWord,
  startGuarantee, startBudget, startRelease, startCompare, startTake, startSticky, startSession,
]) {
  start();
}
