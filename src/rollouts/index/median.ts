/** Finds the median, in linear time. */

/** After so many bad choices of the pivot, the rest is sorted. */
const maxRounds = 64;

/** Moves the value with a rank to the position that it has among the sorted values. */
const moveToRank = (values: Float64Array, rank: number) => {
  let [low, high] = [0, values.length - 1];
  for (let round = 0; low < high; round++) {
    if (round === maxRounds) return void values.subarray(low, high + 1).sort();
    const pivot = values[(low + high) >>> 1] ?? 0;
    let [left, right] = [low, high];
    while (left <= right) {
      while ((values[left] ?? pivot) < pivot) left++;
      while ((values[right] ?? pivot) > pivot) right--;
      if (left > right) break;
      const greater = values[left] ?? 0;
      values[left++] = values[right] ?? 0;
      values[right--] = greater;
    }
    if (rank <= right) high = right;
    else if (rank >= left) low = left;
    else return;
  }
};

/** Changes the order of the values. Returns 0 for an empty list. */
export const findMedian = (values: Float64Array) => {
  const half = (values.length - 1) / 2;
  const [lower, upper] = [Math.floor(half), Math.ceil(half)].map((rank) => {
    moveToRank(values, rank);
    return values[rank] ?? 0;
  });
  // Halving prevents an overflow.
  return lower === upper ? (lower ?? 0) : (lower ?? 0) / 2 + (upper ?? 0) / 2;
};
