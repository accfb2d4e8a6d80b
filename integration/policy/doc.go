// Package policy compares Heddle's scheduler with YARN's. Simulated NodeManagers and ApplicationMasters play scenarios, written as text, on a
// ResourceManager over the wire, and the results are compared.
//
// A scenario in testdata/NAME.txt is a configuration and a script. The results of a stock ResourceManager 3.4.2 are recorded beside
// it, in NAME.golden:
//
//	go test ./integration/policy                          # Heddle against the recordings
//	HEDDLE_TEST_FULL=1 go test ./integration/policy       # stock and Heddle, both live
//	HEDDLE_TEST_STOCK=1 go test ./integration/policy -update -run TestScenarios/NAME    # record
//
// testdata/first.sha256 has the sums of the 163 scenarios, with their recordings, that are older than Heddle's own policies: they stay as they are.
//
// # Scripts
//
// Lines are words; # begins a comment. The configuration comes first:
//
//	scheduler capacity|fair|fifo
//	cs KEY VALUE               a key of capacity-scheduler.xml without yarn.scheduler.capacity.; %sp% is a value of one blank
//	set KEY VALUE              any other key
//	allocations                the fair scheduler's file: the indented lines that follow
//	groups USER GROUP…         groups of a user, the primary one first
//	tolerance N                containers by which an application, user or queue may differ; by default 0
//	quiet DURATION             how long nothing may change until a cluster counts as settled; for policies that wait
//
// Then come the events, one after the other. N1 and so on are names of nodes, A and so on of applications; resources are MEMORY,VCORES
// or MEMORY,VCORES,TYPE=AMOUNT:
//
//	node N1 RESOURCE [rack=/R] [queue=N]     a node joins; with queue= it starts what applications get, and N opportunistic containers may wait there
//	leave N1 | lose N1                       it unregisters, or falls silent
//	resize N1 RESOURCE                       an administrator changes its resources
//	retire N1 | retain N1                    it is decommissioned gracefully, or stays after all
//	submit A [queue=Q] [user=U] [priority=P] [am=RESOURCE] [lifetime=SECONDS] [tags=T1,T2] [label=X] [amlabel=X] [name=N] [constraints=T:C;T:C]
//	                                         submits an application; queue= alone names no queue. With am= its ApplicationMaster runs in a container, otherwise
//	                                         it is unmanaged. An admitted one registers by itself, with constraints C for tags T: see schedule
//	ask A COUNT RESOURCE [priority=P] [on=N1,N2] [rack=/R] [strict]
//	                                         asks for more containers; a priority has one size, and is given places once
//	    [label=X [everywhere=yes]]           label= alone says that it is none; everywhere also in rows for nodes
//	    [type=guaranteed|opportunistic]      of priorities of their own; stock with opportunistic containers takes no ask without it
//	promote A COUNT | demote A COUNT         asks for another execution type of the oldest containers; with wrong=yes of those that have it
//	kinds A                                  records the execution types of its containers, where opportunistic ones are, how many nodes have ended, what failed
//	want A COUNT priority=P                  sets how many containers of a priority are still asked for
//	schedule A COUNT RESOURCE priority=P tag=T1,T2 [constraint=C] [type=guaranteed|opportunistic]
//	                                         asks by a scheduling request; C is notin,node,T | in,rack,all/T | cardinality,node,T,0,1 | NAME=VALUE | and(C:C) | or(C:C)
//	rejected A                               records how many containers of its scheduling requests were rejected
//	labels add X Y(exclusive=false) | labels remove X | labels on N1=X N2:port=Y N3= [known=yes]
//	attributes add|replace|remove N1:NAME=VALUE,NAME [known=yes] | attributes report N1 PREFIX/NAME=VALUE | attributes show
//	release A COUNT [size=RESOURCE] [on=N1]  gives containers back, the newest first
//	blacklist A +N1 -N2                      blacklists nodes, or takes them off the blacklist
//	finish A | kill A | move A QUEUE | priority A P
//	lifetime A SECONDS                       sets its lifetime, from its submission on
//	expires A                                waits until its lifetime is over
//	refresh                                  preceding cs, set or allocations take effect by rmadmin -refreshQueues
//	try ask … | try release …                as much of it as possible, if the ApplicationMaster or the containers are missing
//	reservations                             records what calls about reservations answer
//	queues                                   records what the ResourceManager reports of its queues
//	settle [nodes | usage | priorities]      waits until nothing changes, and records who has what; with nodes: where, with usage: its
//	                                         share of the queue, with priorities: its priority
package policy
