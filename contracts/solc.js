#!/usr/bin/env node
// The pinned compiler as the program that forge and slither expect: `--version`, and `--standard-json` on standard input.
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import solc from 'solc';

const [, , ...words] = process.argv;
if (words.includes('--version')) console.log(`solc, the solidity compiler commandline interface\nVersion: ${solc.version()}`);
else if (words.includes('--standard-json')) process.stdout.write(solc.compile(readFileSync(0, 'utf8')));
else {
  console.error(`${fileURLToPath(import.meta.url)} knows --version and --standard-json`);
  process.exitCode = 1;
}
