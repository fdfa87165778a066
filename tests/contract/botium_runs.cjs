// Runs conversations with botium-core itself: `node botium_runs.cjs PACKAGE < scenarios.json` prints what came of each.
// A scenario has files (by name), capabilities, and what the bot says at the start and to each message in turn; perhaps
// a clock that stands still, and whether what is said varies from run to run.
process.env.TZ = 'UTC'
const fs = require('fs')
const os = require('os')
const path = require('path')
const { BotDriver } = require(process.argv[2])

const message = (said) => {
  if (typeof said === 'string') said = { text: said }
  const { text, buttons, media, cards, source, intent, confidence, ranking, entities } = said
  return {
    sender: 'bot',
    messageText: text,
    buttons: buttons && buttons.map(([title, payload]) => ({ text: title, payload })),
    media: media && media.map(mediaUri => ({ mediaUri })),
    cards,
    sourceData: source,
    nlp: {
      intent: { name: intent || 'none', confidence: confidence || 0, intents: (ranking || []).map(([name, confidence]) => ({ name, confidence })) },
      entities: (entities || []).map(([name, value]) => ({ name, value }))
    }
  }
}
const RunningDate = Date
const stopped = (clock) => class extends RunningDate {
  constructor (...given) { given.length ? super(...given) : super(clock) }
  static now () { return new RunningDate(clock).getTime() }
}
const run = async ({ files, capabilities = {}, opening = [], replies, clock, varies }) => {
  globalThis.Date = clock ? stopped(clock) : RunningDate
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'botium-'))
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text)
  const said = []
  let number = 0
  const connector = ({ queueBotSays }) => ({
    Start: () => { number = 0; said.push([]); setTimeout(() => opening.forEach(one => queueBotSays(message(one))), 0) },
    UserSays: ({ messageText }) => {
      said[said.length - 1].push(varies ? messageText.length : messageText)
      for (const one of replies[number++] || []) queueBotSays(message(one))
    }
  })
  const driver = new BotDriver({ CONTAINERMODE: connector, WAITFORBOTTIMEOUT: 60, ...capabilities })
  const outcomes = {}
  try {
    const compiler = driver.BuildCompiler()
    compiler.ReadScriptsFromDirectory(folder)
    compiler.ExpandScriptingMemoryToConvos()
    compiler.ExpandConvos()
    for (const convo of compiler.convos) {
      const container = await driver.Build()
      try {
        await container.Start()
        await new Promise(resolve => setTimeout(resolve, 5))
        await convo.Run(container)
        outcomes[convo.header.name] = { passed: true, said: said[said.length - 1] }
      } catch (error) {

        outcomes[convo.header.name] = { passed: false, said: said[said.length - 1] }
      } finally {
        await container.Stop()
        await container.Clean()
      }
    }
  } catch (error) {
    return { error: error.message.split('\n')[0].replaceAll(folder, '') }
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
  return outcomes
}
const all = async () => {
  const found = {}
  for (const [name, scenario] of Object.entries(JSON.parse(fs.readFileSync(0, 'utf8')))) found[name] = await run(scenario)
  process.stdout.write(JSON.stringify(found))
  process.exit(0)
}
all()
