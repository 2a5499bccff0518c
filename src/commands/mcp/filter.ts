/** The filters of the tool `catalog`: its parameters, and the filter that is meant. */
import type { Filter } from "../../catalogs/index.ts";
import type { Given } from "../../mcp/index.ts";
import { parseMoment } from "../lists/moment.ts";
import type { McpRoom } from "./session.ts";

/** The filters of `catalog` as parameters. */
export const filterParameters = ({ amount, flag, text, texts, whole, yesOrNo }: McpRoom) => {
  const words = (name: string, about: string) => texts({ name, about }, mostWords);
  const inputModalities = words("input_modalities", "all of these, such as image");
  const outputModalities = words("output_modalities", "all of these");
  const features = words("features", "all of these, such as tools or structured_outputs");
  const parameters = words("parameters", "all of these sampling parameters, such as seed");
  const quantizations = words("quantizations", "one of these, such as fp8");
  const countries = words("countries", "a data centre in one of these: two letters, or EU for its members");
  const onlyCountries = words("only_countries", "every data centre in one of these");
  const minContext = whole({ name: "min_context", about: "tokens" });
  const minOutput = whole({ name: "min_output", about: "tokens" });
  const maxPrompt = amount({ name: "max_prompt_price", about: "US dollars per MILLION tokens" });
  const maxCompletion = amount({ name: "max_completion_price", about: "US dollars per MILLION tokens" });
  const free = flag({ name: "free", about: "only what costs nothing" });
  const deprecated = yesOrNo({ name: "deprecated", about: "whether its deprecation date has come" });
  const within = whole(
    { name: "deprecated_within_days", about: "its deprecation date comes within so many days, or has come" },
    mostDays,
  );
  const createdSince = text({ name: "created_since", about: "an age such as 90d, or a date such as 2026-01-31" });
  return {
    parameters: [
      ...[inputModalities, outputModalities, features, parameters, quantizations, countries, onlyCountries],
      ...[minContext, minOutput, maxPrompt, maxCompletion, free, deprecated, within, createdSince],
    ],
    options: {
      "--input-modality": inputModalities.name,
      "--output-modality": outputModalities.name,
      "--feature": features.name,
      "--parameter": parameters.name,
      "--quantization": quantizations.name,
      "--country": countries.name,
      "--only-country": onlyCountries.name,
    },
    meant: (given: Given, { now, dayOf }: { readonly now: number; readonly dayOf: (ms: number) => string }): Filter => {
      const [days, since, ends] = [given(within), given(createdSince), given(deprecated)];
      const [context, output] = [given(minContext), given(minOutput)];
      const [prompt, completion] = [given(maxPrompt), given(maxCompletion)];
      return {
        inputModalities: given(inputModalities),
        outputModalities: given(outputModalities),
        features: given(features),
        parameters: given(parameters),
        quantizations: given(quantizations),
        countries: given(countries),
        onlyCountries: given(onlyCountries),
        ...(context === undefined ? {} : { minContext: context }),
        ...(output === undefined ? {} : { minOutput: output }),
        maxPrices: { ...(prompt === undefined ? {} : { prompt }), ...(completion === undefined ? {} : { completion }) },
        free: given(free),
        ...(ends === undefined ? {} : { deprecated: ends }),
        ...(days === undefined ? {} : { deprecatedBy: dayOf(now + days * dayMs) }),
        ...(since === undefined ? {} : { createdSince: secondsOf(since, { option: createdSince.name, now }) }),
      };
    },
  };
};

const secondsOf = (typed: string, about: { readonly option: string; readonly now: number }): number =>
  Math.ceil(parseMoment(typed, about) / 1000);

/** Most words of one filter. */
const mostWords = 20;

const dayMs = 86_400_000;

/** A hundred years. */
const mostDays = 36_500;
