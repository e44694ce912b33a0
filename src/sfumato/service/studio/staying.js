// Curves of staying: with which chance a public word stays, at every level of a mechanism. Between
// two measured levels the logarithm of the odds is straight over that of epsilon, as in Python.

const TINY = 1e-6;

/** The chance that a word stays, for the median word and those at 5 % and 95 %. */
export function chanceAt(curve, epsilon) {
  const levels = curve.epsilon.map(Math.log);
  const read = (name) => share(between(levels, oddsOf(curve, curve[name]), Math.log(epsilon)));
  return { low: read("low"), median: read("median"), high: read("high") };
}

/** The smallest level at which the median word stays with a chance; null if none is known to. */
export function levelAt(curve, chance) {
  const heights = oddsOf(curve, curve.median);
  const aim = Math.log(chance / (1 - chance));
  if (aim < heights[0] || aim > heights.at(-1)) return null;
  const above = heights.findIndex((one) => one >= aim);
  if (above === 0) return curve.epsilon[0];
  const part = (aim - heights[above - 1]) / (heights[above] - heights[above - 1]);
  const [low, high] = [Math.log(curve.epsilon[above - 1]), Math.log(curve.epsilon[above])];
  return Math.exp(low + part * (high - low));
}

/** Odds; a chance that draws cannot tell from 0 or 1 is taken as half a draw away from it. */
function oddsOf(curve, chances) {
  const least = curve.draws ? 0.5 / curve.draws : TINY;
  return chances.map((one) => {
    const inside = Math.min(1 - least, Math.max(least, one));
    return Math.log(inside / (1 - inside));
  });
}

function share(odds) {
  return 1 / (1 + Math.exp(-odds));
}

function between(places, heights, place) {
  if (place <= places[0]) return heights[0];
  const above = places.findIndex((one) => one >= place);
  if (above < 0) return heights.at(-1);
  const part = (place - places[above - 1]) / (places[above] - places[above - 1]);
  return heights[above - 1] + part * (heights[above] - heights[above - 1]);
}
