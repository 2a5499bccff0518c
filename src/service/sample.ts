/** A small catalog to look at where no other was put into the data folder; it says that it is a sample. */

/** From github.com/anomalyco/models.dev, MIT, Copyright (c) 2025 models.dev. */
export const sampleCatalog = { data: [] };
