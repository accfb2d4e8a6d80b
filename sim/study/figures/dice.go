package figures

import (
	"fmt"
	"strings"
)

var (
	short = []string{"short P50", "short P75", "short P90"}
	long  = []string{"long P50", "long P75", "long P90"}
)

const (
	slice   = "The slice has an eighth of the trace's jobs, which keep 4,000 workers 86 % busy; the trace keeps them 92 to 94 % busy. The load was tested as the cause, see the rows of 3,700 workers."
	shape   = "The trace isn't public: ours is drawn by what the paper says of it, and waits are shorter."
	full    = "The load was tested as the cause, see the rows of 2,800 workers, which are as busy as the paper's 3,000. The number of jobs isn't it (see the rows of four times the slice)."
	google  = "The slice has a fiftieth of the trace's jobs, and short waits with 12,000 workers. The load was tested as the cause, see the rows of 10,000 workers."
	staged  = "The slice has a fiftieth of the trace's jobs, and short waits with 12,000 workers and more. The load was tested as the cause, see the row of 10,000 workers."
	picture = "The paper has a picture without numbers."
)

func dice() part {
	yahoo := func(system string, workers int, variant string, columns ...string) []ref {
		return of("dice-yahoo", "yahoo", fmt.Sprintf("%s %d, %s", system, workers, variant), columns...)
	}
	rows := []figure{
		{item: "3.1: completion of short jobs, as a multiple of their tasks' mean, Eagle, 4,000 workers", text: "spikes over time", ours: of("eagle-yahoo", "yahoo", "eagle, 4000 workers", "largest ratio"), why: picture + " Ours is the largest one."},
		{item: "3.2: mean wait of short tasks, Eagle, 4,000 workers, longest in s", text: "more than 3000", theirs: []float64{3000}, ours: of("eagle-yahoo", "yahoo", "eagle, 4000 workers", "longest wait"), why: "Ours is of one minute. " + slice},
		{item: "3.3: busy workers, Eagle, short partition of 8 %, in percent", text: "92 to 94, at times 100", ours: of("eagle-yahoo", "yahoo, growing", "8 %", "busy %"), why: "Ours is the mean from the first hundredth of the jobs on; the slice has gaps."},
		{item: "3.4: an example of elastic sizing", text: "shows how it works", says: "`TestWindows` in rm/scheduler/policy/partition"},
	}
	for _, x := range []struct {
		system, share string
		theirs        []float64
	}{
		{"hawk", "2 %", []float64{327.7, 687.1, 1226.4, 3145.2, 6837.4, 10089.1}},
		{"hawk", "4 %", []float64{191.2, 322.3, 457.7, 3455.5, 7467.1, 10754.7}},
		{"hawk", "6 %", []float64{157.0, 243.8, 331.6, 3947.6, 8168.3, 11447.7}},
		{"hawk", "8 %", []float64{138.2, 204.3, 270.8, 4654.6, 8891.4, 12010.3}},
		{"eagle", "2 %", []float64{29.8, 59.1, 147.3, 3160.0, 6837.7, 10070.3}},
		{"eagle", "4 %", []float64{23.2, 42.0, 66.0, 3455.6, 7469.1, 10764.3}},
		{"eagle", "6 %", []float64{22.4, 40.4, 62.9, 3943.5, 8166.6, 11391.0}},
		{"eagle", "8 %", []float64{22.1, 39.9, 62.1, 4650.2, 8901.9, 12025.4}},
	} {
		rows = append(rows, figure{
			item: fmt.Sprintf("Table 3.1: %s, 4,000 workers, short partition of %s: P50/P75/P90 of short and of long jobs, s", x.system, x.share),
			text: join(x.theirs), theirs: x.theirs, ours: of(x.system+"-yahoo", "yahoo, growing", x.share, append(append([]string{}, short...), long...)...), why: slice,
		})
	}
	percents := func(item, run, table, row string, theirs []float64, columns []string, why string) {
		rows = append(rows, figure{item: item, text: join(theirs) + " %", theirs: theirs, ours: of(run, table, row, columns...), why: why})
	}
	shows := func(item, text string, refs []ref, why string) {
		rows = append(rows, figure{item: item, text: text, ours: refs, why: why})
	}
	sized := slice + " The same nodes stay closed while waits last; when each window drew others, the change was −4/−2/+2 %."
	percents("3.5: Hawk, sizing, linear, to 10 %, short jobs P50/P75/P90", "dice-yahoo", "yahoo", "hawk 4000, sizing, linear", []float64{-13.2, -15.6, -24.3}, short, sized)
	percents("3.5: Hawk, sizing, root, short jobs", "dice-yahoo", "yahoo", "hawk 4000, sizing, root", []float64{-34.6, -43.6, -53.5}, short, slice)
	percents("3.5: Hawk, sizing, root, long jobs P75/P90", "dice-yahoo", "yahoo", "hawk 4000, sizing, root", []float64{2.9, 2.1}, long[1:], slice)
	shows("3.5: Hawk, sizing, square, short jobs", "trivial", yahoo("hawk", 4000, "sizing, square", short...), picture)
	shows("3.5: Eagle, sizing, linear, short jobs P75/P90", "over 4 and over 23 % less", yahoo("eagle", 4000, "sizing, linear", short[1:]...), slice)
	for _, more := range []int{2, 6, 10} {
		shows(fmt.Sprintf("3.6: Hawk, sizing to %d %%, short jobs", 2+more), "grows with the bound", yahoo("hawk", 4000, fmt.Sprintf("sizing, %d %% more at most", more), short...), picture)
	}
	percents("3.6: Hawk, sizing to 16 %, short jobs", "dice-yahoo", "yahoo", "hawk 4000, sizing, 14 % more at most", []float64{-18.3, -22.3, -33.3}, short, slice)
	percents("3.6: Eagle, sizing to 16 %, short jobs", "dice-yahoo", "yahoo", "eagle 4000, sizing, 14 % more at most", []float64{-2.9, -5.3, -26.4}, short, slice)
	shows("3.6: Hawk, sizing to 16 %, long jobs", "little", yahoo("hawk", 4000, "sizing, 14 % more at most", long...), picture)
	rows = append(rows, figure{item: "3.7: five cases of preemption", text: "shows how it works", says: "`TestLimitsOfSuspensions` in rm/scheduler/policy/partition, `TestDiceSuspendsATaskTwice` in sim/hybrid"})
	percents("3.8: Eagle, preemption, root, short jobs P90", "dice-yahoo", "yahoo", "eagle 4000, preemption, root", []float64{-41.3}, short[2:], slice)
	percents("3.8: Hawk, preemption, square, short jobs P90", "dice-yahoo", "yahoo", "hawk 4000, preemption, square", []float64{-21.3}, short[2:], slice)
	shows("3.8: Hawk, preemption, root, long jobs", "20 % more at most", yahoo("hawk", 4000, "preemption, root", long...), slice)
	shows("3.8: Hawk, preemption, linear, short jobs", "as square", yahoo("hawk", 4000, "preemption, linear", short...), "Here linear asks more nodes than square at each wait below the longest, and gains twice as much.")
	for _, system := range []string{"hawk", "eagle"} {
		for _, x := range []string{"0.5", "1", "2"} {
			shows(fmt.Sprintf("3.9: %s, multiplier %s, short jobs", system, x), "grows with the multiplier", yahoo(system, 4000, "preemption, multiplier "+x, short...), picture)
		}
	}
	percents("3.10: Hawk, 3,000 workers, Dice, short jobs", "dice-yahoo", "yahoo", "hawk 3000, both, linear", []float64{-91.4, -83.6, -74.4}, short, full)
	percents("3.10: Eagle, 3,000 workers, Dice, short jobs", "dice-yahoo", "yahoo", "eagle 3000, both, linear", []float64{-97.4, -82.3, -74.9}, short, full+" A worker that is asked to suspend takes probes, which the paper doesn't say: without that Eagle's workers would never have a reason to.")
	percents("3.10: Hawk and Eagle, 3,000 workers, Dice, long jobs P50", "dice-yahoo", "yahoo", "hawk 3000, both, linear", []float64{14.3}, long[:1], "Hawk (the paper has 8.0 for Eagle). "+full)
	percents("3.10: Hawk, 4,000 workers, Dice, short jobs", "dice-yahoo", "yahoo", "hawk 4000, both, linear", []float64{-17.7, -26.0, -38.3}, short, slice)
	percents("3.10: Eagle, 4,000 workers, Dice, short jobs", "dice-yahoo", "yahoo", "eagle 4000, both, linear", []float64{-4.1, -8.7, -34.0}, short, slice)
	percents("3.10: Hawk, 4,000 workers, Dice, long jobs P90", "dice-yahoo", "yahoo", "hawk 4000, both, linear", []float64{8.9}, long[2:], slice)
	percents("3.10: Eagle, 4,000 workers, Dice, long jobs P90", "dice-yahoo", "yahoo", "eagle 4000, both, linear", []float64{2.4}, long[2:], slice)
	percents("3.11: Hawk, Cloudera, 12,000 workers, Dice, short jobs", "dice-cloudera", "cloudera-shape", "hawk 12000, both, linear", []float64{-59.1, -45.0, -14.4}, short, shape)
	percents("3.11: Eagle, Cloudera, 12,000 workers, Dice, short jobs", "dice-cloudera", "cloudera-shape", "eagle 12000, both, linear", []float64{-27.6, -57.3, -11.5}, short, shape)
	percents("3.12: Hawk, Google, 12,000 workers, Dice, short jobs", "dice-google", "google", "hawk 12000, both, linear", []float64{-50.9, -54.5, -43.5}, short, google)
	percents("3.12: Eagle, Google, 12,000 workers, Dice, short jobs", "dice-google", "google", "eagle 12000, both, linear", []float64{-33.2, -74.1, -85.3}, short, google)
	rows = append(rows,
		figure{item: "3.13a: Hawk, Yahoo: sizing alone, short jobs", text: "Dice is 5.2/12.4/18.5 % below it", ours: yahoo("hawk", 4000, "sizing, linear", short...), why: "Dice is 5/11/14 % below it here: (100 − 16.4)/(100 − 11.7) and so on."},
		figure{item: "3.13a: Hawk, Yahoo: preemption alone, short jobs", text: "Dice is 12.1/13.4/21.5 % below it", ours: yahoo("hawk", 4000, "preemption, square", short...), why: "Dice is 8/16/18 % below it here."},
		figure{item: "Table 3.2: the traces", text: "24,262 to 506,546 jobs", says: "2,910 jobs of Yahoo's, 10,000 of Google's; shapes of Cloudera's and Facebook's", why: "The whole traces aren't public. `TestShapes` in sim/study holds the shapes to the paper's shares."},
	)
	return part{"Dice (000, chapter 3)", "dice.md", append(rows, diceCauses()...)}
}

// diceCauses tests why figures on Yahoo's slice differ: whether the load is the cause.
func diceCauses() (rows []figure) {
	const drawn = "The load is the cause at P50 and P75 only. P90 gains more than in the paper with each load."
	const spread = "Durations of short tasks spread 1.5 around the same mean, and not 0.8, bring P90 to within two " +
		"errors of the paper's, but move P50 further away: a part of the cause at most."
	const together = "Both together bring Hawk's P50 and P75 and Eagle's P90 to within two errors, and Hawk's " +
		"gains fall from P50 to P90, by a quarter as much as in the paper. We know no cause of the rest: there long jobs' " +
		"P90 grows by 27 %, here by 1 %."
	const bursts = "Bursts of 300 jobs that come seven times as quickly as those between them (here: 60 and 1.7 " +
		"times). Eagle's P90 then gains half as much, near the paper's: it is most of Eagle's cause there. Hawk's P90 " +
		"stays, so that it isn't Hawk's."
	const overload = "The load is the cause: gains are within 4 points of the paper's at P50, and 0 to 10 points from them elsewhere. Long jobs' P50 changes by less than 1 %, so that it isn't the cause of the paper's 8 to 14 %."
	const number = "The number of jobs isn't the cause: gains are as with the slice once."
	const between = "Gains grow with the load: at P90 the paper's figure is between ours of 4,000 workers (86 % busy) and of 3,700 (92 %)."
	rows = diceTimes()
	for _, x := range []struct {
		item, row string
		theirs    []float64
		columns   []string
		why       string
	}{
		{"3.5: Hawk, sizing, linear, short jobs", "hawk 3700, sizing, linear", []float64{-13.2, -15.6, -24.3}, short, between},
		{"3.5: Hawk, sizing, root, short jobs", "hawk 3700, sizing, root", []float64{-34.6, -43.6, -53.5}, short, "With as much load as in the paper the gains are near the paper's."},
		{"3.5: Hawk, sizing, root, long jobs P75/P90", "hawk 3700, sizing, root", []float64{2.9, 2.1}, long[1:], "Long jobs pay less than in the paper."},
		{"3.8: Eagle, preemption, root, short jobs P90", "eagle 3700, preemption, root", []float64{-41.3}, short[2:], between},
		{"3.8: Hawk, preemption, square, short jobs P90", "hawk 3700, preemption, square", []float64{-21.3}, short[2:], between},
		{"3.10: Hawk, Dice, short jobs", "hawk 3700, both, linear", []float64{-17.7, -26.0, -38.3}, short, between},
		{"3.10: Eagle, Dice, short jobs", "eagle 3700, both, linear", []float64{-4.1, -8.7, -34.0}, short, between},
	} {
		rows = append(rows, figure{
			item: x.item + ", cause: the load: 3,700 workers", text: join(x.theirs) + " %", theirs: x.theirs, ours: of("dice-busy", "yahoo", x.row, x.columns...),
			why: x.why,
		})
	}
	for _, x := range []struct {
		item, run, trace, row string
		theirs                []float64
		why                   string
	}{
		{"3.10, cause: the number of jobs: Hawk, 4,000 workers, eight times the slice", "dice-repeat", "yahoo", "hawk 4000", []float64{-17.7, -26.0, -38.3}, number},
		{"3.10, cause: the number of jobs: Eagle, 4,000 workers, eight times the slice", "dice-repeat", "yahoo", "eagle 4000", []float64{-4.1, -8.7, -34.0}, number},
		{"3.10, cause: the number of jobs: Hawk, 3,000 workers, four times the slice", "dice-repeat-overload", "yahoo", "hawk 3000", []float64{-91.4, -83.6, -74.4}, number},
		{"3.10, cause: the number of jobs: Eagle, 3,000 workers, four times the slice", "dice-repeat-overload", "yahoo", "eagle 3000", []float64{-97.4, -82.3, -74.9}, number},
		{
			"3.10, cause: the load: Hawk, 2,800 workers", "dice-overload", "yahoo", "hawk 2800",
			[]float64{-91.4, -83.6, -74.4},
			overload,
		},
		{
			"3.10, cause: the load: Eagle, 2,800 workers", "dice-overload", "yahoo", "eagle 2800",
			[]float64{-97.4, -82.3, -74.9},
			overload,
		},
		{"3.11, cause: the load: Hawk, Cloudera, 10,000 workers", "dice-cloudera-busy", "cloudera-shape", "hawk 10000", []float64{-59.1, -45.0, -14.4}, drawn},
		{"3.11, cause: the load: Eagle, Cloudera, 10,000 workers", "dice-cloudera-busy", "cloudera-shape", "eagle 10000", []float64{-27.6, -57.3, -11.5}, drawn},
		{
			"3.11, cause: bursts: Hawk, Cloudera, 12,000 workers",
			"dice-cloudera-bursts",
			"cloudera-shape",
			"hawk 12000",
			[]float64{-59.1, -45.0, -14.4},
			bursts,
		},
		{
			"3.11, cause: bursts: Eagle, Cloudera, 12,000 workers",
			"dice-cloudera-bursts",
			"cloudera-shape",
			"eagle 12000",
			[]float64{-27.6, -57.3, -11.5},
			bursts,
		},
		{
			"3.11, cause: durations of short tasks differ more: Hawk, Cloudera, 12,000 workers",
			"dice-cloudera-spread",
			"cloudera-shape",
			"hawk 12000",
			[]float64{-59.1, -45.0, -14.4},
			spread,
		},
		{
			"3.11, cause: durations of short tasks differ more: Eagle, Cloudera, 12,000 workers",
			"dice-cloudera-spread",
			"cloudera-shape",
			"eagle 12000",
			[]float64{-27.6, -57.3, -11.5},
			spread,
		},
		{
			"3.11, cause: the load and these durations: Hawk, Cloudera, 11,000 workers",
			"dice-cloudera-spread-busy",
			"cloudera-shape",
			"hawk 11000",
			[]float64{-59.1, -45.0, -14.4},
			together,
		},
		{
			"3.11, cause: the load and these durations: Eagle, Cloudera, 11,000 workers",
			"dice-cloudera-spread-busy",
			"cloudera-shape",
			"eagle 11000",
			[]float64{-27.6, -57.3, -11.5},
			together,
		},
		{"3.12, cause: the load: Hawk, Google, 10,000 workers", "dice-google-busy", "google", "hawk 10000", []float64{-50.9, -54.5, -43.5}, "The load is the cause: the paper's figures at P50 and P75 are between ours of 12,000 and of 10,000 workers."},
		{"3.12, cause: the load: Eagle, Google, 10,000 workers", "dice-google-busy", "google", "eagle 10000", []float64{-33.2, -74.1, -85.3}, "The load is the cause: with 10,000 workers gains are near the paper's."},
	} {
		rows = append(rows, figure{item: x.item + ", Dice, short jobs", text: join(x.theirs) + " %", theirs: x.theirs, ours: of(x.run, x.trace, x.row+", both, linear", short...), why: x.why})
	}
	return rows
}

// diceTimes tests why times on Yahoo's slice differ.
func diceTimes() (rows []figure) {
	all := append(append([]string{}, short...), long...)
	for _, x := range []struct {
		system string
		theirs []float64
	}{{"hawk", []float64{327.7, 687.1, 1226.4, 3145.2, 6837.4, 10089.1}}, {"eagle", []float64{29.8, 59.1, 147.3, 3160.0, 6837.7, 10070.3}}} {
		rows = append(rows, figure{
			item: "Table 3.1, cause: the load: " + x.system + ", 3,700 workers, short partition of 2 %: P50/P75/P90 of short and of long jobs, s", text: join(x.theirs), theirs: x.theirs,
			ours: of(x.system+"-busy", "yahoo", x.system+", 3700 workers", all...),
			why:  "With as much load as in the paper short jobs' P50 and P75 are within 13 % of the paper's. Long jobs of the slice are shorter than those of the trace, whatever the load.",
		})
	}
	for _, x := range []struct{ cause, run, row string }{{"the number of jobs: hawk, 4,000 workers, eight times the slice", "dice-repeat", "hawk 4000, in s"}, {"the load: hawk, 3,000 workers", "dice-repeat-overload", "hawk 3000, in s"}} {
		rows = append(rows, figure{
			item: "Table 3.1, cause: " + x.cause + ": long jobs, s", text: "3145.2 / 6837.4 / 10089.1", theirs: []float64{3145.2, 6837.4, 10089.1}, ours: of(x.run, "yahoo", x.row, long...),
			why: "Neither is the cause: the paper's P90 is 3.2 times its P50, ours 1.5 to 2.5 times with any load and number. What is left is which long jobs the slice has.",
		})
	}
	rows = append(rows, figure{
		item: "3.2 and 3.3, cause: Eagle, 3,700 workers: longest wait in s, busy workers in percent", text: "more than 3000; 92 to 94", ours: of("eagle-busy", "yahoo", "eagle, 3700 workers", "longest wait", "busy %"),
		why: "As busy as in the paper. The longest wait is that of the largest burst in the slice, which is shorter.",
	})
	return rows
}

func eirene() part {
	rows := []figure{
		{item: "4.1: mean wait of short tasks, Eagle, 4,000 workers, longest in s", text: "over 3000", theirs: []float64{3000}, ours: of("eagle-yahoo", "yahoo", "eagle, 4000 workers", "longest wait"), why: "Ours is of one minute. " + slice},
		{item: "4.2, tables 4.2 and 4.3: a worker that stages, MST and TST", text: "show how it works", says: "nm/staging, am/sched; [staging.md](staging.md)"},
		{item: "4.3: a scheduler and a worker exchange messages", text: "shows how it works", says: "`TestStagedTasksAreFaster` in sim/hybrid, `TestLateRequestsAreDropped` in nm/staging"},
		{item: "4.4: an example of clones", text: "shows how it works", says: "am/sched, `Config.CloneBelow`", why: "The bound of 10 s on the wait below which tasks are cloned is ours; the paper has none. The rows of 4.6 and 4.7 without it are from the run eirene-clone."},
		{item: "Table 4.1: stragglers in the traces", text: "58.8, 52.9, 4.4 and 34.3 % of short jobs have one", says: "used to draw the shapes", why: "`TestShapes` in sim/study."},
		{item: "Tables 4.4 and 4.5: traces and parameters", text: "CM 10, MPP 2, DMT 6.42 s, TPS 15 %", says: "the same, as defaults of `heddle-lab sim study eirene`", why: "The RAM disk's size isn't in the paper: 64 inputs here (`--set capacity=`)."},
	}
	percents := func(item, run, table, row string, theirs []float64, columns []string, why string) {
		rows = append(rows, figure{item: item, text: join(theirs) + " %", theirs: theirs, ours: of(run, table, row, columns...), why: why})
	}
	shows := func(item, text string, refs []ref, why string) {
		rows = append(rows, figure{item: item, text: text, ours: refs, why: why})
	}
	percents("4.5: Yahoo, 3,500 workers, P90", "eirene-yahoo", "yahoo", "3500, both", []float64{-66.9}, short[2:], slice)
	percents("4.5: Cloudera, 13,000 workers, P90", "eirene-cloudera", "cloudera-shape", "13000, both", []float64{-70.3}, short[2:], shape)
	percents("4.5: Google, 12,000 workers, P90", "eirene-google", "google", "12000, both", []float64{-67.4}, short[2:], staged)
	percents("4.5: Google, 15,000 workers, P50/P75/P90", "eirene-google", "google", "15000, both", []float64{-9.1, -11.6, -15.8}, short, staged)
	percents("4.5: Facebook, 50,000 workers, P50/P75/P90", "eirene-facebook", "facebook-shape", "50000, both", []float64{-39.2, -79.1, -81.3}, short, shape)
	percents(
		"4.5, cause: the load: Cloudera, 10,000 workers, P90",
		"eirene-cloudera-busy",
		"cloudera-shape",
		"10000, both",
		[]float64{-70.3},
		short[2:],
		"The load isn't the cause: waits are several times as long, and the gain is nearly the same. Seven other causes "+
			"were tried, see the next rows.",
	)
	percents("4.5, cause: the load: Google, 10,000 workers, P90", "eirene-google-busy", "google", "10000, both", []float64{-67.4}, short[2:], "Longer waits bring gains that are five times as large: the load is a part of the cause.")
	for _, workers := range []string{"45,000", "40,000"} {
		percents("4.5, cause: the load: Facebook, "+workers+" workers, P50/P75/P90", "eirene-facebook-overload", "facebook-shape", strings.ReplaceAll(workers, ",", "")+", both", []float64{-39.2, -79.1, -81.3}, short,
			"Longer waits bring P50 and P75 nearer to the paper's, but P90 no lower than −40 %: the load is a part of the cause only. A staged task takes 15 % less, so an overload that lasts keeps most of its waits.")
	}
	for _, x := range []struct{ cause, run, row, why string }{
		{
			"bursts of 300 jobs, seven times as dense",
			"bursts",
			"13000, cm 10",
			"Not the cause: waits are twice as long, and the gain is smaller.",
		},
		{"the RAM disk's size: 100,000 inputs", "disk", "13000, capacity 100000", "Not the cause: it makes no difference."},
		{
			"short tasks twice as long",
			"longer",
			"13000, cm 10",
			"Not the cause: waits are seven times as long, and the gain is smaller.",
		},
		{
			"numbers of a job's tasks differ more",
			"uneven",
			"13000, cm 10",
			"Not the cause: waits are six times as long, and the gain is smaller.",
		},
		{
			"a trace three times as long",
			"repeat",
			"13000, cm 10",
			"Most of the cause: short jobs take longer, as more of them wait, and more inputs are staged. Two errors " +
				"are left.",
		},
		{
			"durations of short tasks differ less",
			"narrow",
			"13000, cm 10",
			"Perhaps a part of the cause: two errors.",
		},
		{
			"durations of short tasks differ more",
			"spread",
			"13000, cm 10",
			"Not the cause: the gain is smaller.",
		},
	} {
		percents(
			"4.5, cause: "+x.cause+": Cloudera, 13,000 workers, P90",
			"eirene-cloudera-"+x.run,
			"cloudera-shape",
			x.row,
			[]float64{-70.3},
			short[2:],
			x.why,
		)
	}
	shows("4.6: Yahoo, overloaded, staging alone", "all of the gain", of("eirene-yahoo", "yahoo", "3500, staging", short...), picture)
	shows("4.6: Yahoo, overloaded, cloning alone", "none", of("eirene-yahoo", "yahoo", "3500, cloning", short...), picture)
	shows("4.6: Yahoo, overloaded, cloning alone, without our bound", "none", of("eirene-clone", "yahoo", "3500, cloning", short...), picture)
	shows("4.7: Yahoo, lightly loaded, cloning alone", "gains", of("eirene-yahoo", "yahoo", "5000, cloning", short...), picture)
	shows("4.7: Yahoo, lightly loaded, cloning alone, without our bound", "gains", of("eirene-clone", "yahoo", "5000, cloning", short...), picture)
	percents("4.7: Facebook, lightly loaded, cloning alone", "eirene-facebook", "facebook-shape", "85000, cloning", []float64{-13.1, -10.0, -8.8}, short, shape)
	shows("4.7: Cloudera, lightly loaded, cloning alone", "trivial", of("eirene-cloudera", "cloudera-shape", "20000, cloning", short...), shape)
	percents(
		"4.7, cause: the load: Facebook, 65,000 workers, the paper's most, both techniques",
		"eirene-facebook-largest",
		"facebook-shape",
		"65000, cm 10",
		[]float64{-13.1, -10.0, -8.8},
		short,
		"The load is the cause: the paper's figures are between ours of 65,000 and of 85,000 workers.",
	)
	shows(
		"4.7, cause: tasks of a job differ little (deviation 0.1 instead of 0.24): Cloudera, lightly loaded, both "+
			"techniques",
		"trivial",
		of("eirene-cloudera-alike", "cloudera-shape", "20000, cm 10", short...),
		"It is the cause: what cloning gains is how much tasks differ. With 0.24, of which the paper's part of "+
			"stragglers follows where durations are log-normal, both gain 11/9/8 %.",
	)
	for _, n := range []int{3000, 4000, 5000, 6000} {
		shows(fmt.Sprintf("4.8: Yahoo, %d workers: short tasks that gained by staging, and by clones", n), "the first falls steeply, the second grows slowly", of("eirene-scale", "yahoo", fmt.Sprintf("%d, cm 10", n), "staged", "clones first"), picture)
	}
	for _, x := range []string{"3.2s", "12.8s"} {
		shows("4.9: a copy takes "+x+": P90, and tasks that gained", "fewer tasks with more, latency hardly changes", of("eirene-dmt", "yahoo", "4000, dmt "+x, "short P90", "staged"), picture)
	}
	shows("4.10: a staged task saves 5 %: P90, and tasks that gained", "P90 is 20.4 % lower with 15 % than with 5 %, with 7.9 % fewer tasks", of("eirene-tps", "yahoo", "4000, tps 5", "short P90", "staged"), "With 15 % P90 is 12 % lower here, with 7.9 % fewer tasks.")
	shows("4.10: a staged task saves 15 %", "as above", of("eirene-tps", "yahoo", "4000, tps 15", "short P90", "staged"), "")
	for _, x := range []string{"5", "20"} {
		shows("4.11: "+x+" copies at a time: P90, and tasks that gained", "no change from 5 to 20", of("eirene-cm", "yahoo", "4000, cm "+x, "short P90", "staged"), "")
	}
	shows("4.12: one input for a probe: P90, and tasks that gained", "with 4: 33.8 % more tasks, P90 5.2 % lower", of("eirene-mpp", "yahoo", "4000, mpp 1", "short P90", "staged"), "With 4: 29 % more tasks, P90 3 % lower here.")
	shows("4.12: four inputs for a probe", "as above", of("eirene-mpp", "yahoo", "4000, mpp 4", "short P90", "staged"), "")
	return part{"Eirene (000, chapter 4)", "eirene.md", rows}
}

func join(list []float64) (s string) {
	for i, x := range list {
		if i > 0 {
			s += " / "
		}
		s += fmt.Sprintf("%g", x)
	}
	return s
}
