package figures

import "fmt"

func bigc() part {
	const (
		kill  = "kill, as much as is needed at once"
		ip    = "IP (suspend-immediate)"
		gp    = "GP (suspend)"
		mixed = "The paper doesn't say how many containers long jobs have, nor how long these run: sim/study/bursts.go " +
			"chooses it. Tasks of a job don't wait for each other here, so that one that is suspended stops no others. " +
			"What that makes of it the rows of causes show."
		quick = "The cost that decides is paging: 3 s a GB, as in the paper. GP takes from one node at a time, not " +
			"from many containers of a job (decisions/suspension.md), so that its victims are slowed more."
		longer = "tasks four times as long"
		part4  = "A quarter of the trace's 3.8 hours. "
	)
	rows := []figure{
		{item: "1: the cluster's scheduler", text: "shows how it works", says: "rm/scheduler/preempt, nm/suspend"},
		{item: "2: what killing adds to Spark's long jobs, in percent", text: "70 in the mean, 92 at most", ours: of("suspension-patterns", "burst", "Spark", "kill"), why: mixed},
		{item: "2: what killing adds to wordcount", text: "8 at least", ours: of("suspension-patterns", "burst", "wordcount", "kill"), why: mixed},
		{item: "2: what killing adds to terasort", text: "64 at most", ours: of("suspension-patterns", "burst", "terasort", "kill"), why: mixed},
		{item: "3: memory of a container that is suspended and resumed", text: "1 GB in some 3 s, out and in", says: "live: nm/suspend's tests in a virtual machine; decisions/suspension.md", why: "A picture of one kernel; the simulator takes the paper's 3 s a GB."},
		{item: "4: architecture", text: "shows how it works", says: "docs/decisions/suspension.md"},
	}
	for _, of5 := range []string{"low", "high", "multi"} {
		rows = append(rows,
			figure{item: "5: Spark, " + of5 + " load: long jobs' p90 with GP, against FIFO", text: map[string]string{"low": "+13 %", "high": "+61 %", "multi": "+17 %"}[of5], theirs: []float64{map[string]float64{"low": 13, "high": 61, "multi": 17}[of5]}, ours: of("suspension-patterns", "Spark, "+of5, gp, "against FIFO"), why: mixed},
			figure{item: "5: Spark, " + of5 + " load: long jobs' p90 with kill, against FIFO", text: "+140 % in the mean of the loads", ours: of("suspension-patterns", "Spark, "+of5, kill, "against FIFO"), why: mixed},
			figure{item: "5: Spark, " + of5 + " load: short jobs' p95 with FIFO, kill, IP and GP, in s", text: "a picture: FIFO far above the others, GP below IP", ours: append(append(append(of("suspension-patterns", "Spark, "+of5, "FIFO", "p95"), of("suspension-patterns", "Spark, "+of5, kill, "p95")...), of("suspension-patterns", "Spark, "+of5, ip, "p95")...), of("suspension-patterns", "Spark, "+of5, gp, "p95")...)},
		)
		for _, job := range []string{"wordcount", "terasort"} {
			rows = append(rows, figure{item: "6: " + job + ", " + of5 + " load: short jobs' p95 with kill, IP and GP, in s", text: "kill slow, IP and GP quick", ours: append(append(of("suspension-patterns", job+", "+of5, kill, "p95"), of("suspension-patterns", job+", "+of5, ip, "p95")...), of("suspension-patterns", job+", "+of5, gp, "p95")...), why: "The paper's killed maps were asked for again at once and killed again; YARN's rules, which Heddle has, don't."},
				figure{item: "6d: " + job + ", " + of5 + " load: long jobs' p90 with GP, against kill", text: map[string]string{"wordcount": "the same", "terasort": "far below"}[job], ours: of("suspension-patterns", job+", "+of5, gp, "against kill"), why: mixed})
		}
	}
	for _, job := range []string{"Spark", "wordcount", "terasort"} {
		var all []ref
		for _, row := range []string{"nothing: 3 s a GB", "0.5 s a GB", "paging takes no time", "tasks run four times as long, a job has a fourth of them", "the same, and paging takes no time"} {
			all = append(all, of("suspension-causes", "causes, "+job, row, "GP")...)
		}
		rows = append(rows, figure{
			item: "5, 6, cause: " + job + ", high load: long jobs' p90 with GP, against kill: as above; 0.5 s a GB; paging takes no time; tasks four times as long; both",
			text: "not given", ours: all, why: "A killed task loses half of its time in the mean, a suspended one what its memory takes to go out and in. So the answer is in two figures that the paper doesn't give.",
		})
	}
	var own []ref
	for _, column := range []string{"as they are", longer} {
		for _, job := range []string{"Spark", "wordcount", "terasort"} {
			own = append(own, of("suspension-own-node", "own node", job, column)...)
		}
	}
	rows = append(rows, figure{
		item: "5, 6, cause: one node is as large as all, and paging takes no time: long jobs' p90 with GP, against " +
			"kill: Spark, wordcount, terasort; the same with tasks four times as long",
		text: "not given", ours: own,
		why: "A suspended container waits for room on its own node, a killed task starts on any. That is the cause of " +
			"what was left: without it wordcount goes from +12.9 to +1.4 %, and with longer tasks from +2.4 to −7.3 %, so " +
			"that GP is better than kill for all three.",
	})
	rows = append(rows, figure{item: "7a: D = 0: the longest start of a short job, IP and GP, in s", text: "80", theirs: []float64{80, 80}, ours: append(of("suspension-tries", "tries", ip+", D = 0", "at most"), of("suspension-tries", "tries", gp+", D = 0", "at most")...), why: part4},
		figure{item: "7a: D = 3: the same", text: "little", ours: append(of("suspension-tries", "tries", ip+", D = 3", "at most"), of("suspension-tries", "tries", gp+", D = 3", "at most")...), why: part4})
	rows = append(rows, figure{
		item:   "7a, cause: half of the trace, not a quarter: D = 0: the same",
		text:   "80",
		theirs: []float64{80, 80},
		ours: append(
			of("suspension-half", "tries", ip+", D = 0", "at most"),
			of("suspension-half", "tries", gp+", D = 0", "at most")...,
		),
		why: "It is the cause: this is the longest of all waits, which grows with the trace.",
	})
	for _, x := range []string{"1 cores and 2 GB", "2 cores and 4 GB", "4 cores and 8 GB", "8 cores and 16 GB"} {
		rows = append(rows, figure{item: "7b: variation of long jobs' times, GP in steps of " + x, text: "grows with the step, below kill and IP", ours: of("suspension-steps", "steps", gp+", steps of "+x, "spread of long jobs"), why: "Durations are drawn and differ from job to job, and steps come from one node: see the causes."})
	}
	const joined = "It is the cause. Steps are taken from the containers of one node, where a request has to fit; on a node that has " +
		"all of them they come from many, as in the text. Then its shape holds: the spread grows with the step (0.23, 0.23, 0.24 and 0.40), " +
		"and is below IP's, and with all but the largest step below kill's."
	for _, x := range []struct{ name, run, why string }{
		{
			"long jobs have as many executors of the same length",
			"suspension-alike",
			"That durations are drawn isn't the cause: without it the spread is smaller, and grows with no step; kill's is " +
				"the smallest.",
		},
		{"the same, with 3 s a GB", "suspension-alike-slow", "Not the cause either."},
		{"the same, with short tasks of 60 s", "suspension-alike-long", "Not the cause either."},
		{"one node is as large as all", "suspension-alike-joined", joined},
	} {
		var all []ref
		for _, row := range []string{gp + ", steps of 1 cores and 2 GB", gp + ", steps of 8 cores and 16 GB", kill, ip} {
			all = append(all, of(x.run, "steps", row, "spread of long jobs")...)
		}
		rows = append(rows, figure{
			item: "7b, cause: " + x.name + ": GP in the smallest and the largest steps, kill, IP",
			text: "grows with the step, below kill and IP",
			ours: all,
			why:  x.why,
		})
	}
	rows = append(rows,
		figure{item: "7b: the same, kill and IP", text: "above GP", ours: append(of("suspension-steps", "steps", kill, "spread of long jobs"), of("suspension-steps", "steps", ip, "spread of long jobs")...), why: "As above."},
		figure{
			item: "8a: the trace, short and long jobs alone", text: "17 and 75 % of the cluster",
			says: "the same, by construction: `drawn` in sim/study/suspension.go",
		},
		figure{item: "8b: short jobs' p95: reserve, kill, IP, GP, in s", text: "183 / 176 / 118 / 96", theirs: []float64{183, 176, 118, 96}, ours: append(append(append(of("suspension-policies", "policies", "reserve", "p95"), of("suspension-policies", "policies", kill, "p95")...), of("suspension-policies", "policies", ip, "p95")...), of("suspension-policies", "policies", gp, "p95")...), why: part4 + "Killing takes what is asked for at once here; see the next row."},
		figure{item: "8b, cause: kill takes a tenth a round, YARN's default", text: "176", ours: of("suspension-policies", "policies", "kill, with YARN's defaults", "p95"), why: "IP is 37 % and GP 47 % below it (the paper: 33 and 45 %): rounds are the cause of kill's place. How long a short task takes, 20 s here, isn't given."},
		figure{item: "8c: long jobs' p90 with GP, against FIFO", text: "+4 %", theirs: []float64{4}, ours: of("suspension-policies", "policies", gp, "against FIFO"), why: part4 + quick},
		figure{item: "8c: long jobs' p90 with GP, against kill", text: "−67 %", theirs: []float64{-67}, ours: of("suspension-policies", "policies", gp, "against kill"), why: part4 + quick + " The paper leaves failed jobs out and counts restarts of whole Spark stages; here a killed executor's work is done again, no more."},
		figure{item: "8c: the same, where 1 GB is paged out in 0.5 s", text: "−67 %", theirs: []float64{-67}, ours: of("suspension-policies", "quick", gp, "against kill"), why: part4 + "With six times the paper's speed of paging GP is quicker than kill: paging was the cause of a part of the difference."},
		figure{item: "8c: long jobs that fail with kill, of 45", text: "23 %, which would be 10", ours: of("suspension-policies", "policies", kill, "would fail"), why: part4 + "Those of which a task lost four containers."},
		figure{item: "8d: part of the time in which over 80 % of the cores are used, GP, reserve", text: "over 60 %; rarely", ours: append(of("suspension-policies", "policies", gp, "busy %"), of("suspension-policies", "policies", "reserve", "busy %")...), why: part4 + "The curve over time is in suspension.svg."},
	)
	return part{"BIG-C (001)", "suspension.md", rows}
}

func sparrow() part {
	response := func(load string, columns ...string) []ref { return of("sparrow", "response", load, columns...) }
	rows := []figure{
		{item: "1: latencies of frameworks", text: "a picture", says: "no study: it is about other systems"},
		{item: "2: batch and per-task sampling", text: "shows how it works", says: "am/sched; sim/study/sampling for the paper's baselines"},
		{item: "3: 90 % load, late binding, d = 2, above ideal", text: "within 14 %", theirs: []float64{14}, ours: response("0.9", "late binding, d = 2")},
		{item: "3: 90 % load, batch sampling, above ideal", text: "over 50 %", ours: response("0.9", "batch sampling")},
		{item: "3: 90 % load, per-task sampling, above ideal", text: "75 %", theirs: []float64{75}, ours: response("0.9", "per-task sampling")},
		{item: "3: 90 % load, late binding against batch sampling", text: "−35 %", theirs: []float64{-35}, ours: response("0.9", "late against batch"), why: "Both are near the paper's figures above ideal, of which 35 % doesn't follow: (100 + 14)/(100 + 57) is −27 %."},
		{item: "3: 90 % load, random placement, above ideal", text: "some 775 % (five times per-task sampling)", theirs: []float64{775}, ours: response("0.9", "random"), why: "M/M/1 is at +900 %. The span of this run is too short for queues of random placement; with three times as much it is +894 ± 35 % (two seeds)."},
		{item: "3: 50 % load, late binding, d = 2, above ideal", text: "a picture: near ideal", ours: response("0.5", "late binding, d = 2")},
	}
	for _, m := range []string{"10", "100"} {
		for _, load := range []string{"0.3", "0.5", "0.8"} {
			rows = append(rows, figure{item: fmt.Sprintf("4, table 2: jobs of %s tasks that start at once, load %s: random, per task, late binding, in percent", m, load), text: "the formulas of table 2, which the run prints beside each", ours: of("sparrow-zero", "zero, "+m+" tasks, 1 cores", load, "random", "per-task sampling", "late binding, d = 2")})
		}
	}
	for _, load := range []string{"0.5", "0.8"} {
		rows = append(rows, figure{item: "5: the same with four cores, 10 tasks, load " + load, text: "the formulas with ρ⁴", ours: of("sparrow-zero", "zero, 10 tasks, 4 cores", load, "random", "per-task sampling", "late binding, d = 2"), why: "Cores of a worker aren't busy by chance: a worker with one busy core is likely to have others. So fewer jobs start at once than the formula says where loads are high."})
	}
	rows = append(rows,
		figure{item: "6, 7: components, messages", text: "show how it works", says: "docs/decisions/probes.md"},
		figure{item: "8: TPC-H on 100 nodes", text: "within 14 % of ideal; 2 to 3 times quicker than random", says: "no study: the queries' stages and times aren't published", why: "Figure 3's rows are the same comparison on its synthetic workload."},
		figure{item: "9: latencies of messages", text: "a few ms", says: "live: `heddle-lab bench probes`", why: "A simulation takes 0.5 ms a message as given."},
		figure{item: "10: a scheduler fails", text: "100 ms until clients use another one", says: "not applicable: the scheduler is in the client. Nodes that are lost are noticed after 100 ms (am/probes)", why: "No process other than the client has its state."},
		figure{item: "11: two users share 400 slots", text: "each gets its max-min share", says: "live on 24 nodes: 2.15 to 1 for weights 2 to 1 ([short-tasks.md](short-tasks.md)); the simulator has one user", why: "nm/probe/fair.go is the same code."},
	)
	for _, p := range []struct {
		load string
		text []float64
	}{{"0", []float64{106, 111}}, {"0.25", []float64{108, 114}}, {"0.5", []float64{110, 148}}, {"0.75", []float64{136, 170}}, {"1.75", []float64{141, 226}}} {
		rows = append(rows, figure{
			item: "Table 3: median and 95th percentile of high priority's jobs, which fill 25 %, beside a low load of " + p.load + ", in ms",
			text: fmt.Sprintf("%g / %g", p.text[0], p.text[1]), theirs: p.text, ours: of("sparrow-priorities", "priorities", p.load, "high, P50", "high, P95"),
			why: "A wait is for the rest of a running task, as nothing is preempted. Alone a job takes 106 ms in the paper, and 102 here: messages take a millisecond, and nothing else takes time.",
		})
	}
	for _, load := range []string{"0.25", "0.5", "0.75", "1.75"} {
		text := map[string]string{"0.25": "108 / 115", "0.5": "110 / 449", "0.75": "40,202 / 46,191", "1.75": "254,896 / 269,661"}[load]
		rows = append(rows, figure{
			item: "Table 3: the same of low priority's jobs, low load " + load, text: text, ours: of("sparrow-priorities", "priorities", load, "low, P50", "low, P95"),
			why: map[bool]string{
				true: "Nothing but the messages takes time here.", false: "Where both fill the cluster the wait grows for as long as jobs come, 30 s here. The row of 1.75 says that it was 11 times as long in the paper. " +
					"At 0.75 the loads are 1 together. With 4 ms lost with each task, as the paper's jobs alone show, they are 1.04: ours has 1.8 s then (low load 0.79), which is half of the paper's at 11 times as long.",
			}[load < "0.75"],
		})
	}
	for _, load := range []string{"0.80", "0.90", "0.95"} {
		rows = append(rows, figure{item: "12: load " + load + ": median with d = 1.1, 1.5, 2 and 3, in ms", text: "1.5 nearly as good as 2; 3 worse at 95 %", ours: of("sparrow", "ratios", load, "d = 1.1, P50", "d = 1.5, P50", "d = 2, P50", "d = 3, P50"), why: "Ten schedulers in the paper, one network here."})
	}
	for _, cores := range []string{"4", "16"} {
		rows = append(rows, figure{item: "13: " + cores + " cores, half of the jobs long (1, 10, 100 s): median of short ones, in ms", text: map[string]string{"4": "more than 100 by far", "16": "within 11 % of 100"}[cores], ours: of("sparrow", "mixed", cores, "50 % long, 1 s", "50 % long, 10 s", "50 % long, 100 s"), why: "The load is 80 % of the slots."})
	}
	return part{"Sparrow (004)", "sparrow.md", rows}
}

func eunomia() part {
	ends := []string{"J1", "J2", "J3", "J4"}
	rows := []figure{
		{item: "5.1, table 5.1: Alice and Bob, naively fair", text: "3/8 and 5/8 of their progress alone", says: "`TestAliceAndBob` in rm/scheduler/policy/eunomia: TSF and Choosy, within 0.02"},
		{item: "5.2: Alice and Bob with Eunomia", text: "4/8 and 4/8", says: "`TestAliceAndBob`: within 0.02"},
		{item: "Table 5.2: terminology", text: "–", says: "doc.go of rm/scheduler/policy/eunomia"},
		{item: "Tables 5.3 and 5.4: the cluster and the jobs", text: "20 nodes of four speeds; four jobs", says: "the same"},
		{item: "5.3: ends of J1 to J4, two tasks at a time on a node, in s", text: "463 / 98 / 240 / 365", theirs: []float64{463, 98, 240, 365}, ours: of("eunomia", "micro 1, two tasks a node", "eunomia", ends...), why: "Times are within 10 % of equal for each seed."},
		{item: "5.3: the same, four tasks a node as printed", text: "463 / 98 / 240 / 365", theirs: []float64{463, 98, 240, 365}, ours: of("eunomia", "micro 1, four tasks a node", "eunomia", ends...), why: "The printed table can't give these times: 33,635 core-seconds at 150 a second are 224 s."},
		{item: "5.3, cause: tasks take up to 50 % more or less, two at a time on a node", text: "463 / 98 / 240 / 365", theirs: []float64{463, 98, 240, 365}, ours: of("eunomia-noise", "micro 1, two tasks a node", "eunomia", ends...), why: "The paper doesn't say how much times of tasks differ. The more they do, the later J2 ends; all ends are within 5 % of the paper's here."},
		{item: "5.3: the same with TSF, two tasks a node", text: "–", ours: of("eunomia", "micro 1, two tasks a node", "tsf", ends...)},
		{item: "Table 5.5: jobs of the second micro-benchmark", text: "four jobs of 1000 tasks of 2 s", says: "the same"},
		{item: "5.4: TSF: share of J4, which says falsely that it needs the fastest nodes; ends of J1 to J4", text: "40 %; J4 ends first", ours: of("eunomia", "micro 2, four tasks a node", "tsf", ends...), why: "Ends, in s."},
		{item: "5.4: Choosy", text: "very similar", ours: of("eunomia", "micro 2, four tasks a node", "choosy", ends...)},
		{item: "5.5: Eunomia: the false constraint gains nothing", text: "25 % each; all end together", ours: of("eunomia", "micro 2, four tasks a node", "eunomia", ends...)},
		{item: "5.4, 5.5: two tasks a node: J4 with TSF, and with Eunomia", text: "first; together", ours: append(of("eunomia", "micro 2, two tasks a node", "tsf", "J4"), of("eunomia", "micro 2, two tasks a node", "eunomia", "J4")...)},
		{item: "5.6: job sizes, and machines that meet constraints", text: "18 % of jobs anywhere, 35 % on half of the nodes", says: "drawn so in the run eunomia", why: "The trace isn't given."},
		{item: "5.7: queueing delay, P50 and P90: Eunomia against TSF", text: "nearly the same", ours: of("eunomia", "macro", "eunomia", "queueing P50 against tsf", "queueing P90 against tsf")},
		{item: "5.7: completion delay, P50 and P90: Eunomia against TSF", text: "nearly the same", ours: of("eunomia", "macro", "eunomia", "completion P50 against tsf", "completion P90 against tsf")},
	}
	return part{"Eunomia (000, chapter 5)", "../policies.md#fair-by-progress", rows}
}

func hopper() part {
	const (
		cause = "Tested (rows of causes, [hopper.md](hopper.md)): it hangs on when the other policy makes copies. With copies that come with their job, as in the paper's example, a copy waits for the next slot that ends, which with many slots comes soon. Where copies come only when no task waits, Hopper's gain is the paper's."
		drawn = "The traces aren't public: jobs are drawn in Facebook's shape."
	)
	ours := func(table, row string, columns ...string) []ref { return of("hopper", table, row, columns...) }
	both := func(a, b []ref) []ref { return append(append([]ref{}, a...), b...) }
	example := func(item, text string, theirs []float64, rows ...string) figure {
		var refs []ref
		for _, x := range rows {
			refs = append(refs, ours("example", x, "A", "B")...)
		}
		return figure{item: item, text: text, theirs: theirs, ours: refs, why: "Six slots; seven is a misprint."}
	}
	gains := func(table, column string, rows ...string) (refs []ref) {
		for _, x := range rows {
			refs = append(refs, ours(table, x, column)...)
		}
		return refs
	}
	return part{"Hopper (002)", "hopper.md", []figure{
		example("2.1: best-effort speculation, A and B, with SRPT and with Fair", "5 and 8, 6 and 8", []float64{5, 8, 6, 8}, "SRPT", "Fair"),
		example("2.2: budgeted speculation, A and B, with SRPT and with Fair", "3 and 7, 6 and 8", []float64{3, 7, 6, 8}, "SRPT, budgeted", "Fair, budgeted"),
		example("2.3, table 2.1: Hopper, A and B", "3 and 6", []float64{3, 6}, "Hopper"),
		{item: "6.1: mean job duration against SRPT: all, and jobs to 50, to 150, to 500 and of more tasks", text: "−50 %; small jobs −29 to −40 %, large ones over −80 %", ours: ours("policies", "SRPT", "all", "to 50 tasks", "51 to 150", "151 to 500", "over 500"), why: drawn + " " + cause},
		{item: "6.1, cause: SRPT's copies come only when no task of any job waits: loads of 0.5, 0.7, 0.9 and 1.2", text: "−50 %; the load isn't given", ours: gains("causes", "change", "the same, load 0.5", "the same, load 0.7", "SRPT makes copies when no task waits", "the same, load 1.2"), why: "This gives the paper's gain, at a load of 0.7 within its error. A copy of a small job then waits behind all tasks of large ones."},
		{item: "6.1, the same at a load of 0.7: jobs to 50, to 150, to 500 and of more tasks", text: "−29 to −40 % for small ones, over −80 % for large ones", ours: ours("causes", "the same, load 0.7", "to 50 tasks", "51 to 150", "151 to 500", "over 500"), why: "The paper has no sizes of its bins. Here the largest jobs gain least. The cause is how much tasks straggle: with β = 1.2 for all they gain 63.1 ± 2.4 % (hopper.md, by size). The paper's order doesn't come out in any case."},
		{item: "6.1, cause: SRPT's copies wait for tasks of their own job only", text: "−50 %", theirs: []float64{-50}, ours: gains("causes", "change", "SRPT makes copies when no task of the job waits"), why: "So Hadoop's own speculation is. It isn't the cause: most jobs are small, and all their tasks begin at once."},
		{item: "6.1, cause: 32, 160 and 400 slots", text: "3,200 slots", ours: gains("causes", "change", "32 slots", "160 slots", "400 slots"), why: "The number of slots isn't the cause. With 32 slots the floor is: see the next row."},
		{item: "6.1, cause: 32 slots without a floor; also with no slots kept; a load of 1.2 with neither", text: "–", ours: gains("causes", "change", "32 slots, no floor", "32 slots, no floor, no slots kept", "load 1.2, no floor, no slots kept"), why: "The floor of ε = 10 % leaves each of many jobs nine tenths of an equal part, so that small ones don't come first."},
		{item: "6.1, cause: a load of 0.5, and of 1.2", text: "not given", ours: gains("causes", "change", "load 0.5", "load 1.2"), why: "More load doesn't bring the gain: with more jobs the floor is a larger part of what the small ones could have."},
		{item: "6.1, cause: jobs of ten times the tasks", text: "not given", ours: gains("causes", "change", "large jobs: ten times the tasks"), why: "Sizes of jobs aren't the cause."},
		{item: "6.1, cause: β = 1.2 for all; also with tasks that take ten times as long at most", text: "β between 1 and 2", ours: gains("causes", "change", "β 1.2 for all", "β 1.2 for all, tasks ten times as long at most"), why: "The shape of stragglers isn't the cause."},
		{item: "6.1, cause: tasks have inputs on three nodes", text: "–", ours: gains("causes", "change", "inputs on three nodes"), why: "Locality isn't the cause."},
		{item: "6.1, cause: no slots kept, no floor (ε = 1), neither", text: "–", ours: gains("causes", "change", "no slots kept", "no floor", "no floor, no slots kept"), why: "What is kept stands idle while copies hardly wait. Without both Hopper is a little better than SRPT. Kept slots of larger jobs held up smaller ones before (`TestNothingIsKeptFromSmallerJobs`): mended, \"no floor\" came from +5.8 to this, the rest of the rows by a tenth of a percent."},
		{item: "6.1, cause: stragglers are seen after three times as long, and after a tenth of the time", text: "–", ours: gains("causes", "change", "seen after three times as long", "seen after a tenth of the time"), why: "Slots are kept for longer, or shorter."},
		{item: "6.5, cause: Fair's copies come only when no task of any job waits", text: "over −70 %", theirs: []float64{-70}, ours: gains("causes", "change", "Fair makes copies when no task waits"), why: "The same cause."},
		{item: "6.2a: gains over jobs: 10th, 50th and 90th percentile", text: "14 % (Hadoop) and 22 % (Spark) at the 10th, over 70 % at high ones", ours: ours("policies", "SRPT", "P10", "P50", "P90"), why: "The 90th is that of the tenth of the jobs that gain most. " + cause},
		{item: "6.2b: gains by the length of the DAG: 1, 2, 4 and 6 phases", text: "hold", ours: gains("phases", "change", "1", "2", "4", "6"), why: cause},
		{item: "6.3: gains with LATE, Mantri and GRASS", text: "alike", ours: gains("speculation", "change", "late", "mantri", "grass"), why: "Alike here, too. " + cause},
		{item: "6.4a: gains with ε of 0, 5, 10, 15, 20 and 30 %", text: "rise fast, flat above 15 %", ours: gains("epsilon", "against SRPT", "0", "5", "10", "15", "20", "30"), why: "There is no gain to rise. " + cause},
		{item: "6.4b: jobs that slow down at ε = 10 %, and those that do by more than 5 %, in percent", text: "below 4 %", ours: ours("epsilon", "10", "slower", "by more than 5 %"), why: "Any difference counts in the first: another order gives a copy another slot at another time."},
		{item: "6.4c: by how much those are slower: mean and worst, in percent", text: "5 % at most", ours: ours("epsilon", "10", "mean slowdown", "worst"), why: "The mean is within the paper's bound, the worst job isn't."},
		{item: "6.5: mean job duration against Fair and DRF", text: "over −70 %", theirs: []float64{-70, -70}, ours: both(ours("policies", "Fair", "all"), ours("policies", "DRF", "all")), why: cause},
		{item: "6.5: the same, jobs to 50 tasks and over 500", text: "small ones gain more than against SRPT, large ones about the same", ours: ours("policies", "Fair", "to 50 tasks", "over 500"), why: drawn},
		{item: "6.6: gains with k of 0, 3, 5, 7, 15 and 30 %", text: "3 % is best, drops above 7 %", ours: gains("locality", "against SRPT", "0", "3", "5", "7", "15", "30"), why: "Turns for locality change nothing: see the next row. A task takes 1.5 times as long away from its input, which is chosen."},
		{item: "6.6: local tasks with SRPT, and with k of 0, 3, 7, 15 and 30 %", text: "54 % with the guidelines alone; grow with k", ours: gains("locality", "local", "SRPT", "0", "3", "7", "15", "30"), why: "An input is on three of ten nodes, and a job that is served has many tasks that wait, so that one of them finds its input nearly always."},
		{item: "6.7: β for each group: against one of 1.2", text: "some −10 %", theirs: []float64{-10}, ours: ours("groups", "all", "change"), why: "What the others' smaller virtual sizes leave goes to jobs with β = 1.2, and is little. " + cause},
		{item: "6.7: the same, groups of β 1.2, 1.5 and 1.8", text: "most far from 1.2", ours: gains("groups", "change", "β 1.2", "β 1.5", "β 1.8"), why: "The other way round, for that reason."},
		{item: "6.4.3: decisions a second, without and with Hopper", text: "12,200 and 12,010", says: "`go test ./rm/scheduler -run - -bench DecisionByPolicy`", why: "A benchmark; it depends on the machine."},
	}}
}

func parts() []part {
	return []part{dice(), eirene(), eunomia(), bigc(), hopper(), fresh(), omo(), esplash(), sparrow()}
}
