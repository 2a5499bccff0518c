/** Returns the columns of a terminal that a text takes. */
declare const stringWidth: (text: string) => number;
export = stringWidth;
