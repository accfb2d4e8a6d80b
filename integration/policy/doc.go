// Package policy holds Heddle's scheduler against YARN's: scenarios, written as text, are played on a ResourceManager by simulated
// NodeManagers and ApplicationMasters over the wire, and what comes of them is compared.
//
// A scenario in testdata/NAME.txt is a configuration and a script. What a stock ResourceManager 3.4.2 made of it is recorded beside
// it, in NAME.golden:
//
//	go test ./integration/policy                          # Heddle against the recordings
//	HEDDLE_TEST_FULL=1 go test ./integration/policy       # stock and Heddle, both live
//	HEDDLE_TEST_STOCK=1 go test ./integration/policy -update -run TestScenarios/NAME    # record
//
// # Scripts
//
// Lines are words; # begins a comment. First comes what is configured:
//
//	scheduler capacity|fair|fifo
//	cs KEY VALUE               a key of capacity-scheduler.xml without yarn.scheduler.capacity.
//	set KEY VALUE              any other key
//	allocations                the fair scheduler's file: the indented lines that follow
//	groups USER GROUP…         groups of a user, the primary one first
//	tolerance N                containers by which an application, user or queue may differ; 0 unless said otherwise
//	quiet DURATION             how long nothing may change until a cluster counts as settled; for policies that wait
//
// Then what happens, one after the other. N1 and so on are names of nodes, A and so on of applications; resources are MEMORY,VCORES
// or MEMORY,VCORES,TYPE=AMOUNT:
//
//	node N1 RESOURCE [rack=/R]               a node joins
//	leave N1 | lose N1                       it signs off, or falls silent
//	resize N1 RESOURCE                       an administrator changes what it has
//	retire N1 | retain N1                    it is to be decommissioned gracefully, or stays after all
//	submit A [queue=Q] [user=U] [priority=P] [am=RESOURCE] [lifetime=SECONDS] [tags=T1,T2]
//	                                         an application is submitted, with queue= alone to a queue without a name; with am= its ApplicationMaster runs in a container, otherwise
//	                                         it is unmanaged; one that is admitted registers by itself
//	ask A COUNT RESOURCE [priority=P] [on=N1,N2] [rack=/R] [strict]
//	                                         further containers; for one priority either a size once, or places once more
//	release A COUNT [size=RESOURCE] [on=N1]  containers are given back, the newest first
//	blacklist A +N1 -N2                      nodes are shunned, or no longer
//	finish A | kill A | move A QUEUE | priority A P
//	lifetime A SECONDS                       it is to live so long, from its submission on
//	expires A                                wait until its lifetime is over
//	refresh                                  cs, set or allocations that came before take effect by rmadmin -refreshQueues
//	try ask … | try release …                as much of it as can be, if the ApplicationMaster or the containers aren't there
//	queues                                   note what the ResourceManager tells of its queues
//	settle [nodes | usage | priorities]      wait until nothing changes, and note who has what; with nodes: where, with usage: how
//	                                         much of the queue's it is, with priorities: how urgent
package policy
