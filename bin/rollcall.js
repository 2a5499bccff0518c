#!/usr/bin/env node
const { main } = require("../dist/main.cjs");

main(process).then((code) => {
  process.exitCode = code;
});
