// Package timelineservice publishes what becomes of applications, attempts and containers to a timeline server of version 1 or 1.5, as YARN's ResourceManager
// does (Hadoop: SystemMetricsPublisher, TimelineServiceV1Publisher).
//
// A Follower makes entities of the commands that its own ResourceManager has proposed and the ledger has applied, so the leader alone publishes, and nothing
// that isn't committed. A Publisher sends them, in order, beside everything else: a server that is away or slow costs memory up to a bound, and nothing else.
package timelineservice
