// Package request checks what ApplicationMasters and clients ask for, and turns it into asks of the scheduler, as
// Hadoop's RMServerUtils and SchedulerUtils do. Messages of YARN's protocols go in. Asks and sizes that the cluster can give come out, or
// a refusal in Hadoop's words. It changes nothing.
//
// A leader has one Checker, for submissions, heartbeats of ApplicationMasters and wishes to resize containers.
package request
