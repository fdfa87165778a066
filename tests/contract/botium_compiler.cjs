// Reads BotiumScript with botium-core itself: `node botium_compiler.cjs PACKAGE FOLDER` prints what it read, as JSON.
// Each file is read alone, and each folder as a suite, with scripting memory and the utterances expanded; then the names
// of all asserters, logic hooks, user inputs and functions that it has without plug-ins.
const fs = require('fs')
const path = require('path')
const [, , packageFolder, root] = process.argv
const { BotDriver } = require(packageFolder)

const compiler = () => new BotDriver({ CONTAINERMODE: () => {}, SCRIPTING_ENABLE_MEMORY: true }).BuildCompiler()
const named = ({ name, args, not, optional }) => {
  const said = { name, args }
  if (not) said.not = true
  if (optional) said.optional = true
  return said
}
const step = (one) => {
  const said = { sender: one.sender }
  if (one.channel) said.channel = one.channel
  if (one.stepTag && one.stepTag.startsWith('Line ')) said.line = parseInt(one.stepTag.slice(5))
  if (one.sourceData !== undefined) said.json = one.sourceData
  else said.text = one.messageText
  if (one.not) said.not = true
  if (one.optional) said.optional = true
  if (one.asserters.length) said.asserters = one.asserters.map(named)
  if (one.logicHooks.length) said.hooks = one.logicHooks.map(named)
  if (one.userInputs.length) said.inputs = one.userInputs.map(named)
  return said
}
const convo = (one) => {
  const said = { name: one.header.name }
  if (one.header.description) said.description = one.header.description
  said.steps = one.conversation.map(step)
  return said
}
const expanded = (one) => ({
  name: one.header.name,
  memory: Object.fromEntries(one.beginLogicHook.filter(h => h.name === 'SET_SCRIPTING_MEMORY').map(h => h.args)),
  steps: one.conversation.map(s => ({ ...step(s), line: undefined }))
})
const attempt = (read) => {
  try {
    return read()
  } catch (error) {
    return { error: error.message.split('\n')[0] }
  }
}
const files = {}
const folders = {}
const walk = (folder) => {
  const entries = fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries.filter(one => one.isDirectory())) walk(path.join(folder, entry.name))
  const scripts = entries.filter(one => one.isFile() && /\.((convo|pconvo|utterances|scriptingmemory)\.txt|ya?ml|json)$/.test(one.name))
  if (!scripts.length) return
  const shown = path.relative(root, folder)
  for (const { name } of scripts) {
    files[path.join(shown, name)] = attempt(() => {
      const read = compiler().ReadScript(folder, name)
      return {
        ...(read.convos.length && { convos: read.convos.map(convo) }),
        ...(read.pconvos.length && { pconvos: read.pconvos.map(convo) }),
        ...(read.utterances.length && { utterances: read.utterances.map(({ name, utterances }) => ({ name, utterances })) }),
        ...(read.scriptingMemories.length && { memories: read.scriptingMemories.map(({ header, values }) => ({ name: header.name, values })) })
      }
    })
  }
  folders[shown] = attempt(() => {
    const all = compiler()
    all.ReadScriptsFromDirectory(folder, '*.{txt,yml,yaml,json}')
    all.ExpandScriptingMemoryToConvos()
    all.ExpandConvos()
    return all.convos.map(expanded)
  })
}
walk(root)
const scripting = path.join(packageFolder, 'src', 'scripting')
const hooks = require(path.join(scripting, 'logichook', 'LogicHookConsts'))
const namesOf = (list) => list.map(one => one.name).sort()
const names = {
  asserters: namesOf(hooks.DEFAULT_ASSERTERS),
  hooks: namesOf(hooks.DEFAULT_LOGIC_HOOKS),
  inputs: namesOf(hooks.DEFAULT_USER_INPUTS),
  functions: Object.keys(require(path.join(scripting, 'ScriptingMemory')).SCRIPTING_FUNCTIONS).sort()
}
process.stdout.write(JSON.stringify({ files, folders, names }))
