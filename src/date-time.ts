/** Checks dates and times without loading schemas. */

const daysInMonth = (year: number, month: number) => new Date(Date.UTC(year, month, 0)).getUTCDate();

/** True if the text is an ISO 8601 date and time, with or without an offset. */
export const isDateTime = (text: string) => {
  const [, year, month, day] =
    /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d+)?)?(?:[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?$/.exec(
      text,
    ) ?? [];
  // `Date.UTC` reads a year below 100 as 19xx. Leap years repeat every 400 years.
  const isInMonth = () => Number(day) <= daysInMonth(2000 + (Number(year) % 400), Number(month));
  return year !== undefined && (Number(day) <= 28 || isInMonth());
};
