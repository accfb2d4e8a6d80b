package request

import (
	"math"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/rm/leader/refusal"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// cluster stands in for the driver.
type cluster struct {
	open    int
	largest records.Resource
	// what the application has, and what it would have with further asks
	requests, places, requestsWith, placesWith, excluded int
	counted                                              int // calls of RequestsWith, which goes through all requests
}

func (c *cluster) OpenNodes() int                            { return c.open }
func (c *cluster) Largest() records.Resource                 { return c.largest }
func (c *cluster) Requests(scheduler.AppHandle) (int, int)   { return c.requests, c.places }
func (c *cluster) Excluded(scheduler.AppHandle) (places int) { return c.excluded }

func (c *cluster) RequestsWith(scheduler.AppHandle, []scheduler.Ask) (requests, places int) {
	c.counted++
	return c.requestsWith, c.placesWith
}

var start = time.Unix(1000, 0)

func checker(c *cluster, now *time.Time) *Checker {
	tree := queue.Default(queue.Capacity)
	return &Checker{Config{
		Scheduler: c, Queues: func() *queue.Tree { return tree },
		MinAllocation: records.NewResource(256, 1), MaxAllocation: records.NewResource(8192, 4),
		Now: func() time.Time { return *now }, LargerNodes: start.Add(10 * time.Second), Arrived: &Arrived{},
	}}
}

// The maximum is what the largest node has, once larger ones have had the time to come, and if there is a node at all.
func TestMaximumFollowsNodes(t *testing.T) {
	now := start
	c := &cluster{}
	ch := checker(c, &now)
	for _, step := range []struct {
		after time.Duration
		open  int
		want  records.Resource
	}{
		{0, 1, records.NewResource(8192, 4)},
		{10*time.Second - 1, 1, records.NewResource(8192, 4)},
		{10 * time.Second, 0, records.NewResource(8192, 4)},
		{10 * time.Second, 1, records.NewResource(4096, 4)},
	} {
		now, c.open, c.largest = start.Add(step.after), step.open, records.NewResource(4096, 16)
		if got := ch.Maximum(); got != step.want {
			t.Errorf("after %v with %d nodes: %v, not %v", step.after, step.open, got, step.want)
		}
	}
}

func TestSizesAreRoundedUp(t *testing.T) {
	now := start
	for _, test := range []struct {
		name          string
		increment     records.Resource
		asked, become records.Resource
	}{
		{"to the minimum", records.Resource{}, records.NewResource(0, 0), records.NewResource(256, 1)},
		{"a whole multiple stays", records.Resource{}, records.NewResource(512, 2), records.NewResource(512, 2)},
		{"to the next multiple", records.Resource{}, records.NewResource(513, 2), records.NewResource(768, 2)},
		{"not above the maximum", records.Resource{}, records.NewResource(5999, 3), records.NewResource(6000, 3)},
		{"to the next increment", records.NewResource(1000, 2), records.NewResource(1001, 1), records.NewResource(2000, 2)},
	} {
		t.Run(test.name, func(t *testing.T) {
			ch := checker(&cluster{}, &now)
			ch.Increment = test.increment
			ch.Queues = func() *queue.Tree { return counting }
			if got, err := ch.Normalize(test.asked, records.NewResource(6000, 4)); got != test.become || err != nil {
				t.Errorf("%v, %v; not %v", got, err, test.become)
			}
		})
	}
}

// counting is a tree whose scheduler looks at cores.
var counting = func() *queue.Tree {
	t := queue.Default(queue.Capacity)
	t.Dominant = true
	return t
}()

// Where the scheduler doesn't look at cores, containers have one (Hadoop: DefaultResourceCalculator).
func TestContainersHaveOneCoreWhereCoresDontCount(t *testing.T) {
	now := start
	if got, err := checker(&cluster{}, &now).Normalize(records.NewResource(256, 3), records.NewResource(8192, 4)); got != records.NewResource(256, 1) || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func capability(mb int64, cores int32) *pb.Resource {
	r := &pb.Resource{}
	r.SetMemory(mb)
	r.SetVirtualCores(cores)
	return r
}

func row(name string, count int32, mb int64) *pb.ResourceRequest {
	r := &pb.ResourceRequest{}
	r.SetResourceName(name)
	r.SetNumContainers(count)
	r.SetCapability(capability(mb, 1))
	r.SetRelaxLocality(true)
	return r
}

// unknownType is an amount of something that the cluster doesn't have.
func unknownType() *pb.Resource {
	r, v := capability(256, 1), &pb.ResourceInformation{}
	v.SetKey("unicorns")
	v.SetValue(1)
	r.SetResourceValueMap([]*pb.ResourceInformation{v})
	return r
}

func TestRequestsBecomeAsks(t *testing.T) {
	now := start
	ch := checker(&cluster{}, &now)
	first := row("*", 2, 300)
	first.SetAllocationRequestId(7)
	priority := &pb.Priority{}
	priority.SetPriority(5)
	first.SetPriority(priority)
	if asks, err := ch.Asks(nil, "root.default", nil); asks != nil || err != nil {
		t.Errorf("of no requests: %+v, %v", asks, err)
	}
	if asks, err := ch.Asks(nil, "root.default", []*pb.ResourceRequest{row("*", 1, 256)}); len(asks) != 1 || err != nil {
		t.Errorf("of one request: %+v, %v", asks, err)
	}
	asks, err := ch.Asks(nil, "root.default", []*pb.ResourceRequest{first, row("n1", 0, 1<<40)}) // a count of 0 takes a request back, of any size
	if err != nil || len(asks) != 2 {
		t.Fatalf("%+v, %v", asks, err)
	}
	want := scheduler.Ask{
		Name: "*", Count: 2, Priority: 5, AllocationRequestID: 7, RelaxLocality: true, Capability: records.NewResource(512, 1),
		ExecutionType: pb.ExecutionType_GUARANTEED,
	}
	if asks[0] != want {
		t.Errorf("%+v, not %+v", asks[0], want)
	}
	if asks[1].Name != "n1" || asks[1].Count != 0 {
		t.Errorf("%+v", asks[1])
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	now := start
	labelled := row("*", 1, 256)
	labelled.SetNodeLabelExpression("gpu")
	unknown := row("*", 1, 256)
	unknown.SetCapability(unknownType())
	for _, test := range []struct {
		name string
		row  *pb.ResourceRequest
		kind refusal.Reason
		text string
	}{
		{"an amount of an unknown type", unknown, refusal.InvalidResource, "Invalid resource request: "},
		{"a label", labelled, refusal.InvalidLabel, "node label not enabled"},
		{"less than no containers", row("n1", -1, 256), refusal.InvalidResource, "number of containers -1 is less than 0 for n1"},
		{"less than no memory", row("*", 1, -1), refusal.InvalidResource, "requested resource is less than 0! Requested resource type=[memory-mb]"},
		{"too large", row("*", 1, 8193), refusal.InvalidResource, "Requested resource=<memory:8193, vCores:1>, maximum allowed allocation=<memory:8192, vCores:4>"},
		{"far too large", row("*", 1, math.MaxInt64), refusal.InvalidResource, "greater than maximum allowed allocation"},
	} {
		t.Run(test.name, func(t *testing.T) {
			asks, err := checker(&cluster{}, &now).Asks(nil, "root.default", []*pb.ResourceRequest{row("*", 1, 256), test.row})
			if !refusal.Is(err, test.kind) || !strings.Contains(err.Error(), test.text) || asks != nil {
				t.Errorf("%v, %v", asks, err)
			}
		})
	}
}

func TestAsksForMasters(t *testing.T) {
	now := start
	ch := checker(&cluster{}, &now)
	submission := func(change func(*pb.ApplicationSubmissionContext)) *pb.ApplicationSubmissionContext {
		ctx := &pb.ApplicationSubmissionContext{}
		change(ctx)
		return ctx
	}
	sized := submission(func(ctx *pb.ApplicationSubmissionContext) { ctx.SetResource(capability(300, 1)) })
	asks, err := ch.ForMaster(sized, "root.default")
	if err != nil || len(asks) != 1 || asks[0] != (scheduler.Ask{
		Name: "*", Count: 1, Capability: records.NewResource(512, 1), AllocationRequestID: -1, ExecutionType: pb.ExecutionType_GUARANTEED, RelaxLocality: true,
	}) {
		t.Errorf("of a size alone: %+v, %v", asks, err)
	}
	if got := MasterSize(asks); got != records.NewResource(512, 1) {
		t.Errorf("its size is %v", got)
	}
	if again := ch.OfSize(MasterSize(asks), ""); len(again) != 1 || again[0] != asks[0] {
		t.Errorf("asked for again: %+v", again)
	}

	placed := submission(func(ctx *pb.ApplicationSubmissionContext) {
		strict := row("*", 5, 256)
		strict.SetRelaxLocality(false)
		ctx.SetAmContainerResourceRequest([]*pb.ResourceRequest{row("n1", 5, 256), strict})
	})
	asks, err = ch.ForMaster(placed, "root.default")
	if err != nil || len(asks) != 2 || asks[0].Name != "n1" || !asks[0].RelaxLocality || asks[1].RelaxLocality || asks[0].Count != 1 || asks[1].Count != 1 {
		t.Errorf("on a host: %+v, %v", asks, err)
	}

	unmanaged := submission(func(ctx *pb.ApplicationSubmissionContext) { ctx.SetUnmanagedAm(true) })
	if asks, err := ch.ForMaster(unmanaged, "root.default"); len(asks) != 0 || err != nil || MasterSize(asks) != (records.Resource{}) {
		t.Errorf("for an unmanaged one: %+v, %v", asks, err)
	}
	for name, test := range map[string]struct {
		ctx  *pb.ApplicationSubmissionContext
		kind refusal.Reason
		text string
	}{
		"nothing": {submission(func(*pb.ApplicationSubmissionContext) {}), refusal.InvalidResource, "no resources requested"},
		"a host alone": {submission(func(ctx *pb.ApplicationSubmissionContext) {
			ctx.SetAmContainerResourceRequest([]*pb.ResourceRequest{row("n1", 1, 256)})
		}), refusal.InvalidResource, "no resource request specified with *"},
		"a label of a request": {submission(func(ctx *pb.ApplicationSubmissionContext) {
			labelled := row("*", 1, 256)
			labelled.SetNodeLabelExpression("gpu")
			ctx.SetAmContainerResourceRequest([]*pb.ResourceRequest{labelled})
		}), refusal.InvalidLabel, "node label not enabled"},
		"an unknown type": {submission(func(ctx *pb.ApplicationSubmissionContext) { ctx.SetResource(unknownType()) }), refusal.InvalidResource, "unicorns"},
		"a label of the application": {submission(func(ctx *pb.ApplicationSubmissionContext) {
			ctx.SetNodeLabelExpression("gpu")
			ctx.SetResource(capability(256, 1))
		}), refusal.InvalidLabel, "node label not enabled"},
		"too much": {submission(func(ctx *pb.ApplicationSubmissionContext) { ctx.SetResource(capability(9000, 1)) }), refusal.InvalidResource, "greater than maximum allowed allocation"},
	} {
		if asks, err := ch.ForMaster(test.ctx, "root.default"); !refusal.Is(err, test.kind) || !strings.Contains(err.Error(), test.text) || asks != nil {
			t.Errorf("%s: %+v, %v", name, asks, err)
		}
	}
}

// What an application asks for is bounded, and all of its requests are gone through only where they may be too many.
func TestRequestsOfOneApplicationAreBounded(t *testing.T) {
	now := start
	asks := func(n int) []scheduler.Ask { return make([]scheduler.Ask, n) }
	for _, test := range []struct {
		name     string
		has      cluster
		asks     int
		excludes int
		counted  int
		kind     refusal.Reason
		text     string // of the refusal
	}{
		{name: "few", has: cluster{requests: 7, places: 2}, asks: 3},
		{name: "many, mostly known", has: cluster{requests: 8, places: 2, requestsWith: 10}, asks: 3, counted: 1},
		{name: "too many requests", has: cluster{requests: 8, requestsWith: 11}, asks: 3, counted: 1, kind: refusal.InvalidResource, text: "would have 11 requests"},
		{name: "too many places", has: cluster{places: 3, placesWith: 6}, asks: 3, counted: 1, kind: refusal.InvalidResource, text: "would ask for 6 hosts and racks in its requests; at most 5"},
		{name: "places, mostly known", has: cluster{places: 3, placesWith: 5}, asks: 3, counted: 1},
		{name: "too many rows", asks: 16, kind: refusal.InvalidResource, text: "asks with 16 rows at once; at most 15"},
		{name: "as many rows as may be", asks: 15, counted: 1},
		{name: "few hosts excluded", has: cluster{excluded: 3}, excludes: 2},
		{name: "too many hosts excluded", has: cluster{excluded: 3}, excludes: 3, kind: refusal.InvalidBlacklist, text: "would exclude more than 5"},
		{name: "nothing new, above a limit that was lowered", has: cluster{requests: 20, places: 20, excluded: 20}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ch := checker(&test.has, &now)
			ch.MaxRequests, ch.MaxPlaces = 10, 5
			err := ch.Limit(records.ApplicationID{}, 0, asks(test.asks), test.excludes)
			if test.text == "" && err != nil || test.text != "" && (!refusal.Is(err, test.kind) || !strings.Contains(err.Error(), test.text)) {
				t.Errorf("%v", err)
			}
			if test.has.counted != test.counted {
				t.Errorf("went through all requests %d times, not %d", test.has.counted, test.counted)
			}
			ch.MaxRequests, ch.MaxPlaces = 0, 0
			if err := ch.Limit(records.ApplicationID{}, 0, asks(test.asks), test.excludes); err != nil {
				t.Errorf("without limits: %v", err)
			}
			if test.has.counted != test.counted {
				t.Error("went through all requests, which have no limit")
			}
		})
	}
}

// A limit of requests holds without one of places, and the other way round.
func TestEitherLimitHoldsAlone(t *testing.T) {
	now := start
	for _, test := range []struct {
		requests, places int
		text             string
	}{{10, 0, "would have 11 requests"}, {0, 5, "would ask for 6 hosts"}} {
		ch := checker(&cluster{requests: 10, places: 5, requestsWith: 11, placesWith: 6}, &now)
		ch.MaxRequests, ch.MaxPlaces = test.requests, test.places
		if err := ch.Limit(records.ApplicationID{}, 0, make([]scheduler.Ask, 100), 0); err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("with at most %d requests and %d places: %v", test.requests, test.places, err)
		}
	}
}

// Queues have maxima of containers of their own. A queue that isn't there has none.
func TestQueuesBoundContainers(t *testing.T) {
	now := start
	fair, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fairTree, err := queue.FairFromText(fair, "<allocations><queue name='small'><maxContainerAllocation>1024 mb,2 vcores</maxContainerAllocation></queue></allocations>")
	if err != nil {
		t.Fatal(err)
	}
	capacityTree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "small,large", "root.small.capacity": "50", "root.large.capacity": "50", "root.small.maximum-allocation-mb": "1024",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		tree *queue.Tree
		path string
		most int64
	}{
		"capacity":                         {capacityTree, "root.small", 1024},
		"capacity, without one":            {capacityTree, "root.large", 8192},
		"capacity, an unknown queue":       {capacityTree, "root.nowhere", 8192},
		"fair":                             {fairTree, "root.small", 1024},
		"fair, below a queue that has one": {fairTree, "root.small.alice", 1024},
		"fair, elsewhere":                  {fairTree, "root.large", 8192},
		"of the cluster, if that has less": {fairTree, "root.small", 512},
	} {
		c := &cluster{}
		if test.most < 1024 {
			c = &cluster{open: 1, largest: records.NewResource(test.most, 1)}
		}
		ch := checker(c, &now)
		now = start.Add(time.Minute)
		ch.Queues = func() *queue.Tree { return test.tree }
		for mb, want := range map[int64]bool{test.most: true, test.most + 1: false} {
			_, err := ch.Asks(nil, test.path, []*pb.ResourceRequest{row("*", 1, mb)})
			if (err == nil) != want || err != nil && !refusal.Is(err, refusal.InvalidResource) {
				t.Errorf("%s: %d MB: %v", name, mb, err)
			}
			ctx := &pb.ApplicationSubmissionContext{}
			ctx.SetResource(capability(mb, 1))
			if _, err := ch.ForMaster(ctx, test.path); (err == nil) != want {
				t.Errorf("%s: an ApplicationMaster of %d MB: %v", name, mb, err)
			}
		}
	}
}

// A size near the largest number isn't rounded up beyond it, and nothing above what sums can hold is admitted, whatever the maximum is.
func TestTheLargestSizes(t *testing.T) {
	now := start
	huge := records.NewResource(records.MaxAmount-100, 1)
	if got, err := checker(&cluster{}, &now).Normalize(huge, records.NewResource(math.MaxInt64, 1)); got != records.NewResource(records.MaxAmount, 1) || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	huge[records.Memory] = records.MaxAmount + 1
	if _, err := checker(&cluster{}, &now).Normalize(huge, records.NewResource(math.MaxInt64, 1)); !refusal.Is(err, refusal.InvalidResource) {
		t.Errorf("%v", err)
	}
}

// The product of a count and a size wrapped: a request waited for less than nothing.
func TestCountsOfHugeContainersAreBounded(t *testing.T) {
	for _, c := range []struct {
		count, want int32
		size        records.Resource
	}{
		{math.MaxInt32, math.MaxInt32, records.NewResource(8192, 4)},
		{math.MaxInt32, math.MaxInt32, records.NewResource(1<<15, 0)},
		{math.MaxInt32, 1 << 30, records.NewResource(1<<16, 1)},
		{math.MaxInt32, usualCount, records.NewResource(1, 1<<40)},
		{math.MaxInt32, 256, records.NewResource(1, records.MaxAmount)},
		{7, 7, records.NewResource(records.MaxAmount, 1)},
		{0, 0, records.NewResource(records.MaxAmount, 1)},
	} {
		if got := countable(c.count, c.size); got != c.want {
			t.Errorf("%d of %v: %d, want %d", c.count, c.size, got, c.want)
		}
		if sum := c.size.Times(int64(countable(c.count, c.size))); max(sum[0], sum[1]) > maxAsked {
			t.Errorf("%d of %v: %v", c.count, c.size, sum)
		}
	}
}

// A lifetime of very many seconds ended at once, because the date of its end wrapped.
func TestVeryLongLifetimesDontEnd(t *testing.T) {
	for seconds, want := range map[int64]int64{15: 15_100, math.MaxInt64: math.MaxInt64, math.MaxInt64/1000 + 1: math.MaxInt64} {
		if got := Expiry(100, seconds); got != want {
			t.Errorf("%d seconds end at %d", seconds, got)
		}
	}
}
