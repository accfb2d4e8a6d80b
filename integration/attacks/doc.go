// Package attacks plays hostile users, ApplicationMasters, nodes, clients and web pages against a live cluster, while honest jobs run.
//
// Every attack must be refused, or have no effect. At the end the jobs have their results, no daemon has used more memory than memoryBound,
// and after a restart all applications are there and the next job runs. The name of an attack says what it does.
package attacks
