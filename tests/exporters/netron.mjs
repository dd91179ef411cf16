// Opens a model as Netron does, without a browser: `node open.mjs NETRON_FOLDER MODEL` prints its nodes as JSON.
import * as fs from 'fs';
import * as path from 'path';
import { pathToFileURL } from 'url';

const [netron, model] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(netron, file)).href);
const { ModelFactoryService } = await load('view.js');
const { BinaryStream } = await load('base.js');

const read = (file) => new BinaryStream(new Uint8Array(fs.readFileSync(file)));
const host = {
    environment: () => null,
    event: () => {},
    exception: (error) => { throw error; },
    require: (id) => load(`${id.replace(/^\.\//, '')}.js`),
    asset: (file) => fs.readFileSync(path.join(netron, file), 'utf-8'),
};
const context = {
    ...host,
    identifier: path.basename(model),
    stream: read(model),
    error: (error) => { throw error; },
    fetch: async (file) => read(path.join(path.dirname(model), file)),
};
const opened = await new ModelFactoryService(host).open(context);
const nodes = opened.modules[0].nodes.map((node) => ({
    name: node.name,
    type: node.type.name,
    attributes: Object.fromEntries(node.attributes.map((each) => [each.name, String(each.value)])),
}));
console.log(JSON.stringify(nodes));
