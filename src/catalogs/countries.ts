/** Countries as codes of two letters (ISO 3166-1), and the European Union as its members. */

/** A code of two letters in capitals. */
type Country = string;

/** The members of the European Union. */
const europeanUnion: readonly Country[] =
  "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split(" ");

/** All officially assigned codes. */
export const countryCodes: readonly Country[] = [
  "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ",
  "CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR",
  "GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP",
  "KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT",
  "MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW",
  "SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ",
  "UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW",
].flatMap((line) => line.split(" "));

/** The countries that words stand for, codes or names: `EU` for all its members; letters in any case. */
export const parseCountries = (words: readonly string[]): ReadonlySet<Country> =>
  new Set(words.map(parseCountry).flatMap((code) => (code === "EU" ? ["EU", ...europeanUnion] : code)));

/** The code of a country by a code, its English name or what that is shortened to; the word itself where it is none of them. */
export const parseCountry = (word: string): Country => {
  const typed = word.trim().toUpperCase();
  return knownCodes.has(typed) ? typed : (codesByName().get(normalizeName(word)) ?? typed);
};

const knownCodes: ReadonlySet<Country> = new Set(["EU", ...countryCodes]);

const codesByName = (): ReadonlyMap<string, Country> => {
  const names = (["short", "long"] as const).map((style) => new Intl.DisplayNames(["en"], { type: "region", style }));
  return new Map(
    [...knownCodes].flatMap((code) => names.map((own) => [normalizeName(own.of(code) ?? code), code] as const)),
  );
};

/** A name in small letters without accents or punctuation. */
const normalizeName = (name: string): string =>
  name
    .normalize("NFD")
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, "");
