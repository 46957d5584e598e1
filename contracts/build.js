// Compiles src/ into the artefact that the Python package carries, and the paper's listing into the tests' fixture.
// `node build.js` writes them; `node build.js --check` compares byte for byte, and fails where they differ.
import {readFileSync, writeFileSync, readdirSync, existsSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import solc from 'solc';

const HERE = dirname(fileURLToPath(import.meta.url));
const SETTINGS = {
  evmVersion: 'cancun',
  optimizer: {enabled: true, runs: 200},
  metadata: {bytecodeHash: 'none', appendCBOR: false},
  outputSelection: {'*': {'*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object',
    'evm.deployedBytecode.immutableReferences']}},
};
const ARTEFACTS = [
  {folder: 'src', names: ['ExperienceRegistry', 'GymGovernor', 'GymStaking', 'GymToken'], to: '../src/gym/dao/artifacts/contracts.json'},
  {folder: 'paper', names: ['PaperRegistry', 'PaperStaking'], to: '../tests/dao/paper_listing.json'},
];

const read = name => readFileSync(join(HERE, name.startsWith('@') ? 'node_modules' : '', name), 'utf8');

/** Every source below `folder` and what it imports, by name in sorted order. */
function sources(folder) {
  const found = {}, open = readdirSync(join(HERE, folder)).filter(name => name.endsWith('.sol')).map(name => `${folder}/${name}`);
  for (let name; (name = open.pop());) {
    if (name in found) continue;
    found[name] = {content: read(name)};
    for (const [, path] of found[name].content.matchAll(/^(?:import|\})[^;"]*"([^"]+)"/gm)) {
      open.push(path.startsWith('.') ? join(dirname(name), path) : path);
    }
  }
  return Object.fromEntries(Object.entries(found).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function compiled(folder) {
  const input = {language: 'Solidity', sources: sources(folder), settings: SETTINGS};
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const ours = error => error.severity === 'error' || !error.sourceLocation?.file.startsWith('@');
  const said = (output.errors ?? []).filter(ours).map(error => error.formattedMessage);
  if (said.length) throw new Error(said.join('\n'));
  return output.contracts;
}

/** One contract's part: what is needed to call, to deploy, and to compare with what a chain holds. */
function part({abi, evm}) {
  const places = Object.values(evm.deployedBytecode.immutableReferences).flat().sort((one, other) => one.start - other.start);
  return {abi, bytecode: `0x${evm.bytecode.object}`, runtime: `0x${evm.deployedBytecode.object}`, immutables: places};
}

function artefact({folder, names}) {
  const contracts = compiled(folder);
  const parts = names.map(name => [name, part(contracts[`${folder}/${name}.sol`][name])]);
  const versions = JSON.parse(read('package.json')).devDependencies;
  const built = {solc: solc.version(), openzeppelin: versions['@openzeppelin/contracts'], settings: SETTINGS};
  return JSON.stringify({built, contracts: Object.fromEntries(parts)}, null, 1) + '\n';
}

let stale = false;
for (const one of ARTEFACTS) {
  const path = join(HERE, one.to), text = artefact(one);
  if (!process.argv.includes('--check')) writeFileSync(path, text);
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    stale = true;
    console.error(`${one.to} is not what contracts/ compiles to: run \`make contracts\` and commit the result`);
  }
}
process.exitCode = stale ? 1 : 0;
