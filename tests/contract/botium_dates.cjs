// What Moment.js, as botium-core has it, makes of dates: `node botium_dates.cjs PACKAGE < asked.json` prints for each
// time (UTC) what each pattern writes, and which time each step leads to.
process.env.TZ = 'UTC'
const fs = require('fs')
const moment = require(require.resolve('moment', { paths: [process.argv[2]] }))

const { times, patterns, steps } = JSON.parse(fs.readFileSync(0, 'utf-8'))
const written = Object.fromEntries(times.map(time => [
  time, Object.fromEntries(patterns.map(pattern => [pattern, moment(time).format(pattern)]))
]))
const moved = Object.fromEntries(times.map(time => [
  time, steps.map(([amount, unit]) => moment(time).add(amount, unit).format('YYYY-MM-DDTHH:mm:ss.SSS'))
]))
process.stdout.write(JSON.stringify({ written, moved }))
