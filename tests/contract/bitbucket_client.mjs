// What the package made from Atlassian's description sends for the work that turncheck does, as JSON lines on stdout.
import { createRequire } from 'node:module'

const [url, library] = process.argv.slice(2)
const { Bitbucket } = createRequire(import.meta.url)(library)
const client = new Bitbucket({ baseUrl: url, auth: { token: 'ATCTT-person' }, notice: false })
const at = { workspace: 'acme', repo_slug: 'bots' }
const say = (name, answer) => console.log(JSON.stringify([name, answer.data]))

const made = await client.pullrequests.createComment({ ...at, pull_request_id: 7, _body: { content: { raw: 'one' } } })
say('PullrequestComment', made)
const one = { ...at, pull_request_id: 7, comment_id: made.data.id }
say('PullrequestComment', await client.pullrequests.updateComment({ ...one, _body: { content: { raw: 'two' } } }))
say('PaginatedPullrequestComments', await client.pullrequests.listComments({ ...at, pull_request_id: 7, pagelen: 100 }))
await client.pullrequests.deleteComment(one)
say('Pullrequest', await client.pullrequests.get({ ...at, pull_request_id: 7 }))
const report = { ...at, commit: 'b'.repeat(40), reportId: 'turncheck-1' }
const described = { title: 't', details: 'd', report_type: 'TEST', reporter: 'turncheck', result: 'FAILED' }
say('Report', await client.commits.createOrUpdateReport({ ...report, _body: described }))
const placed = [{ external_id: 'a-1', annotation_type: 'BUG', summary: 's', severity: 'HIGH', path: 'a.yml', line: 1 }]
say('ReportAnnotation[]', await client.commits.bulkCreateOrUpdateAnnotations({ ...report, _body: placed }))
await client.commits.deleteReport(report)
say('User', await client.users.getAuthedUser({}))
