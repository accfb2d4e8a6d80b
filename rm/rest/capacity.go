package rest

import (
	"slices"
	"strconv"
	"strings"

	"heddle/conf"
	"heddle/rm/queue"
	"heddle/rm/queue/quantity"
	"heddle/rm/queue/template"
	"heddle/rm/rest/health"
	"heddle/rm/view"
	"heddle/yarn/acl"
	"heddle/yarn/records"
)

// capacityRoot describes YARN's CapacityScheduler by its root queue (Hadoop: CapacitySchedulerInfo).
type capacityRoot struct {
	Type             string          `yarn:"type,xsi"`
	Capacity         float32         `yarn:"capacity"`
	UsedCapacity     float32         `yarn:"usedCapacity"`
	MaxCapacity      float32         `yarn:"maxCapacity"`
	Weight           float32         `yarn:"weight"`
	NormalizedWeight float32         `yarn:"normalizedWeight"`
	Vector           capacityVector  `yarn:"queueCapacityVectorInfo"`
	Name             string          `yarn:"queueName"`
	Path             string          `yarn:"queuePath"`
	MaxParallelApps  int32           `yarn:"maxParallelApps"`
	Absolute         bool            `yarn:"isAbsoluteResource"`
	Queues           capacityQueues  `yarn:"queues"`
	Capacities       queueCapacities `yarn:"capacities"`
	Health           health.Info     `yarn:"health"`
	Maximum          resourceInfo    `yarn:"maximumAllocation"`
	ACLs             queueACLs       `yarn:"queueAcls"`
	Priority         int32           `yarn:"queuePriority"`
	OrderingPolicy   string          `yarn:"orderingPolicyInfo"`
	queueKind
}

type queueKind struct {
	Mode               string       `yarn:"mode"`
	QueueType          string       `yarn:"queueType"`
	CreationMethod     string       `yarn:"creationMethod"`
	AutoCreation       string       `yarn:"autoCreationEligibility"`
	DefaultLabel       *string      `yarn:"defaultNodeLabelExpression"`
	AutoTemplate       templateInfo `yarn:"autoQueueTemplateProperties"`
	AutoParentTemplate templateInfo `yarn:"autoQueueParentTemplateProperties"`
	AutoLeafTemplate   templateInfo `yarn:"autoQueueLeafTemplateProperties"`
}

// templateInfo is what queues made on demand would get (Hadoop: LeafQueueTemplateInfo, AutoQueueTemplatePropertiesInfo).
type templateInfo struct {
	Property []confProperty `yarn:"property"`
}

func templateOf(settings []template.Setting) (out templateInfo) {
	for _, s := range settings {
		out.Property = append(out.Property, confProperty{s.Name, s.Value})
	}
	return out
}

type capacityQueues struct {
	Queue []any `yarn:"queue"` // capacityQueue or capacityLeaf
}

// capacityQueue is a queue below the root (Hadoop: CapacitySchedulerQueueInfo).
type capacityQueue struct {
	Path               string          `yarn:"queuePath"`
	Capacity           float32         `yarn:"capacity"`
	UsedCapacity       float32         `yarn:"usedCapacity"`
	MaxCapacity        float32         `yarn:"maxCapacity"`
	AbsoluteCapacity   float32         `yarn:"absoluteCapacity"`
	AbsoluteMax        float32         `yarn:"absoluteMaxCapacity"`
	AbsoluteUsed       float32         `yarn:"absoluteUsedCapacity"`
	Weight             float32         `yarn:"weight"`
	NormalizedWeight   float32         `yarn:"normalizedWeight"`
	Applications       int             `yarn:"numApplications"`
	MaxParallelApps    int32           `yarn:"maxParallelApps"`
	Name               string          `yarn:"queueName"`
	Absolute           bool            `yarn:"isAbsoluteResource"`
	State              string          `yarn:"state"`
	Queues             *capacityQueues `yarn:"queues"`
	Used               resourceInfo    `yarn:"resourcesUsed"`
	HideReservations   bool            `yarn:"hideReservationQueues"`
	Labels             []string        `yarn:"nodeLabels"`
	AllocatedContainer int             `yarn:"allocatedContainers"`
	ReservedContainers int             `yarn:"reservedContainers"`
	PendingContainers  int64           `yarn:"pendingContainers"`
	Capacities         queueCapacities `yarn:"capacities"`
	Resources          partitions      `yarn:"resources"`
	MinEffective       resourceInfo    `yarn:"minEffectiveCapacity"`
	MaxEffective       resourceInfo    `yarn:"maxEffectiveCapacity"`
	Maximum            resourceInfo    `yarn:"maximumAllocation"`
	ACLs               queueACLs       `yarn:"queueAcls"`
	Priority           int32           `yarn:"queuePriority"`
	OrderingPolicy     string          `yarn:"orderingPolicyInfo"`
	AutoCreate         bool            `yarn:"autoCreateChildQueueEnabled"`
	LeafTemplate       templateInfo    `yarn:"leafQueueTemplate"`
	queueKind
}

// capacityLeaf is a queue that holds applications (Hadoop: CapacitySchedulerLeafQueueInfo).
type capacityLeaf struct {
	Type string `yarn:"type,xsi"`
	capacityQueue
	Active            int          `yarn:"numActiveApplications"`
	Pending           int          `yarn:"numPendingApplications"`
	Containers        int          `yarn:"numContainers"`
	MaxApplications   int32        `yarn:"maxApplications"`
	MaxPerUser        int32        `yarn:"maxApplicationsPerUser"`
	UserLimit         float32      `yarn:"userLimit"`
	Users             queueUsers   `yarn:"users"`
	UserLimitFactor   float32      `yarn:"userLimitFactor"`
	MaxAMShare        float32      `yarn:"configuredMaxAMResourceLimit"`
	AMLimit           resourceInfo `yarn:"AMResourceLimit"`
	AMUsed            resourceInfo `yarn:"usedAMResource"`
	UserAMLimit       resourceInfo `yarn:"userAMResourceLimit"`
	NoPreemption      bool         `yarn:"preemptionDisabled"`
	NoIntraPreemption bool         `yarn:"intraQueuePreemptionDisabled"`
	DefaultPriority   int32        `yarn:"defaultPriority"`
	AutoCreated       bool         `yarn:"isAutoCreatedLeafQueue"`
	MaxLifetime       int64        `yarn:"maxApplicationLifetime"`
	DefaultLifetime   int64        `yarn:"defaultApplicationLifetime"`
}

type capacityVector struct {
	Text    string                `yarn:"configuredCapacityVector"`
	Entries []capacityVectorEntry `yarn:"capacityVectorEntries"`
}

type capacityVectorEntry struct {
	Resource string `yarn:"resourceName"`
	Value    string `yarn:"resourceValue"`
}

type queueCapacities struct {
	Partitions []partitionCapacity `yarn:"queueCapacitiesByPartition"`
}

type partitionCapacity struct {
	Name             string         `yarn:"partitionName"`
	Vector           capacityVector `yarn:"queueCapacityVectorInfo"`
	Capacity         float32        `yarn:"capacity"`
	UsedCapacity     float32        `yarn:"usedCapacity"`
	MaxCapacity      float32        `yarn:"maxCapacity"`
	AbsoluteCapacity float32        `yarn:"absoluteCapacity"`
	AbsoluteUsed     float32        `yarn:"absoluteUsedCapacity"`
	AbsoluteMax      float32        `yarn:"absoluteMaxCapacity"`
	MaxAMLimit       float32        `yarn:"maxAMLimitPercentage"`
	Weight           float32        `yarn:"weight"`
	NormalizedWeight float32        `yarn:"normalizedWeight"`
	ConfiguredMin    resourceInfo   `yarn:"configuredMinResource"`
	ConfiguredMax    resourceInfo   `yarn:"configuredMaxResource"`
	EffectiveMin     resourceInfo   `yarn:"effectiveMinResource"`
	EffectiveMax     resourceInfo   `yarn:"effectiveMaxResource"`
}

type queueACLs struct {
	ACL []queueACL `yarn:"queueAcl"`
}

type queueACL struct {
	Type string `yarn:"accessType"`
	List string `yarn:"accessControlList"`
}

type queueUsers struct {
	User []queueUser `yarn:"user"`
}

type queueUser struct {
	Name      string       `yarn:"username"`
	Used      resourceInfo `yarn:"resourcesUsed"`
	Pending   int          `yarn:"numPendingApplications"`
	Active    int          `yarn:"numActiveApplications"`
	AMUsed    resourceInfo `yarn:"AMResourceUsed"`
	Limit     resourceInfo `yarn:"userResourceLimit"`
	Resources partitions   `yarn:"resources"`
	Weight    float32      `yarn:"userWeight"`
	IsActive  bool         `yarn:"isActive"`
}

// uses returns the queues' use together with their tree, because the tree may change at any time.
func (s *server) uses() (*queue.Tree, map[string]*view.QueueUse) {
	return s.View.QueueUses(s.Queues.Tree(), s.MinAllocation)
}

// capacityTree builds the tree that a client sees.
type capacityTree struct {
	*server
	total records.Resource // of nodes without a label
	uses  map[string]*view.QueueUse
	tree  *queue.Tree
	parts *view.Partitions
}

func (s *server) capacityInfo() capacityRoot {
	tree, uses := s.uses()
	t, root := capacityTree{s, s.View.Total(), uses, tree, view.PartitionsOf(s.View, tree)}, tree.Root
	out := capacityRoot{
		Type: "capacityScheduler", Capacity: 100, UsedCapacity: t.usedShare(root), MaxCapacity: 100 * root.Maximum,
		Weight: -1, Vector: t.vector(root), Name: root.Name, Path: root.Path, MaxParallelApps: root.MaxParallelApps,
		Capacities: t.capacities(root), Health: health.Of(s.Now().UnixMilli(), s.resource(records.Resource{})), Maximum: s.resource(s.MaxAllocation), ACLs: t.acls(root),
		Priority: root.Priority, OrderingPolicy: root.OrderingPolicy, queueKind: kindOf(root),
	}
	for _, q := range root.Children {
		out.Queues.Queue = append(out.Queues.Queue, t.queue(q))
	}
	return out
}

func kindOf(q *queue.Queue) queueKind {
	kind, mode := "parent", "percentage"
	if q.Leaf() {
		kind = "leaf"
	}
	switch q.Unit {
	case quantity.ByWeight:
		mode = "weight"
	case quantity.ByAmount:
		mode = "absolute"
	case quantity.Mixed:
		mode = "mixed"
	}
	eligible := "off"
	switch {
	case q.Creation.Legacy:
		eligible = "legacy"
	case q.Creation.Flexible:
		eligible = "flexible"
	}
	out := queueKind{Mode: mode, QueueType: kind, CreationMethod: q.Made.String(), AutoCreation: eligible}
	if q.DefaultLabel != "" {
		out.DefaultLabel = &q.DefaultLabel
	}
	if !q.Leaf() {
		out.AutoTemplate, out.AutoParentTemplate = templateOf(q.Creation.All), templateOf(q.Creation.Parents)
		out.AutoLeafTemplate = templateOf(q.Creation.FlexibleLeaves)
	}
	return out
}

// usedShare returns a queue's use as a percentage of its guarantee.
func (t *capacityTree) usedShare(q *queue.Queue) float32 {
	guaranteed := t.shareOf(t.uses[q.Path].Share.Min, t.total)
	if guaranteed == 0 {
		return 0
	}
	return 100 * float32(t.shareOf(t.uses[q.Path].Used, t.total)/guaranteed)
}

// shareOf returns the ratio of part to whole, 0 to 1, as the scheduler measures queues.
func (s *server) shareOf(part, whole records.Resource) float64 {
	return s.Queues.Tree().Share(part, whole)
}

func (t *capacityTree) vector(q *queue.Queue) capacityVector {
	var v capacityVector
	var parts []string
	for i := range t.Types.Len() {
		name, value := t.Types.At(i).Name, t.configured(q, i)
		parts = append(parts, name+"="+value)
		v.Entries = append(v.Entries, capacityVectorEntry{name, value})
	}
	slices.Sort(parts) // as Hadoop, whose map is sorted by names
	v.Text = "[" + strings.Join(parts, ",") + "]"
	return v
}

// configured returns the configured capacity of a resource.
func (t *capacityTree) configured(q *queue.Queue, resource int) string {
	amount := q.Vector[resource]
	if amount.Unit == quantity.ByPercent {
		amount.Value = q.Percent
		if q.Reservable {
			amount.Value = float64(100 * q.Capacity)
		}
	}
	value := strconv.FormatFloat(amount.Value, 'f', -1, 64)
	if !strings.Contains(value, ".") {
		value += ".0"
	}
	return value + map[quantity.Unit]string{quantity.ByPercent: "%", quantity.ByWeight: "w"}[amount.Unit]
}

func (t *capacityTree) capacities(q *queue.Queue) queueCapacities {
	share, masters := &t.uses[q.Path].Share, float32(0)
	if q.Leaf() {
		masters = q.MaxAMShare
	}
	out := queueCapacities{[]partitionCapacity{{
		Vector: t.vector(q), Capacity: 100 * share.Capacity, UsedCapacity: t.usedShare(q),
		MaxCapacity: shownMaximum(share.Maximum), AbsoluteCapacity: 100 * share.AbsoluteCapacity,
		AbsoluteUsed: 100 * float32(t.shareOf(t.uses[q.Path].Used, t.total)), AbsoluteMax: 100 * share.AbsoluteMaximum,
		MaxAMLimit: 100 * masters, Weight: q.ShownWeight(), NormalizedWeight: q.NormalizedWeight,
		ConfiguredMin: t.bounded(q.ConfiguredMin()), ConfiguredMax: t.bounded(q.ConfiguredMax()),
		EffectiveMin: t.resource(share.Min), EffectiveMax: t.resource(share.Max),
	}}}
	for _, part := range t.partitionsOf(q) {
		out.Partitions = append(out.Partitions, t.capacity(&part))
	}
	return out
}

// shownMaximum returns a maximum in percent. A maximum of 0 is shown as if there were none (Hadoop: CapacitySchedulerQueueInfo).
func shownMaximum(of float32) float32 {
	if of < 1e-4 {
		return 100
	}
	return 100 * of
}

// bounded shows an amount together with the limits of containers.
func (s *server) bounded(r records.Resource) resourceInfo {
	out := s.resource(r)
	for i := range out.Informations.Information {
		info := &out.Informations.Information[i]
		info.MinimumAllocation, info.MaximumAllocation = s.MinAllocation[i], s.MaxAllocation[i]
	}
	return out
}

func (t *capacityTree) acls(q *queue.Queue) queueACLs {
	return queueACLs{[]queueACL{
		{"ADMINISTER_QUEUE", aclText(q.Administer)},
		{"APPLICATION_MAX_PRIORITY", aclText(q.MaxPriority)},
		{"SUBMIT_APP", aclText(q.Submit)},
	}}
}

// aclText formats a list as Hadoop does: users, a blank, groups.
func aclText(l acl.List) string {
	if l.AllowsAll() {
		return "*"
	}
	users, groups, _ := strings.Cut(l.String(), " ")
	return strings.Join(conf.ParseList(users), ",") + " " + strings.Join(conf.ParseList(groups), ",")
}

func (t *capacityTree) queue(q *queue.Queue) any {
	u := t.uses[q.Path]
	state := "RUNNING"
	if q.Stopped {
		state = "STOPPED"
		if len(u.Apps) > 0 {
			state = "DRAINING"
		}
	}
	caps := t.capacities(q)
	own := &caps.Partitions[0]
	out := capacityQueue{
		Path: q.Path, Capacity: own.Capacity, UsedCapacity: own.UsedCapacity, MaxCapacity: own.MaxCapacity,
		AbsoluteCapacity: own.AbsoluteCapacity, AbsoluteMax: own.AbsoluteMax, Absolute: q.Unit == quantity.ByAmount,
		AbsoluteUsed: own.AbsoluteUsed, Weight: own.Weight, NormalizedWeight: own.NormalizedWeight, Applications: len(u.Apps), MaxParallelApps: q.MaxParallelApps,
		Name: q.Name, State: state, Used: t.resource(u.Used), HideReservations: q.Reservable, Labels: q.Labels,
		AllocatedContainer: u.Containers, PendingContainers: u.Waiting, Capacities: caps,
		MinEffective: own.EffectiveMin, MaxEffective: own.EffectiveMax,
		Maximum: t.resource(q.Largest(t.MaxAllocation)), ACLs: t.acls(q), Priority: q.Priority, OrderingPolicy: q.OrderingPolicy,
		queueKind: kindOf(q), AutoCreate: q.Creation.Legacy, LeafTemplate: templateOf(q.Creation.Leaves),
		Resources: partitions{[]partitionUsage{{Used: t.resource(u.Used), Reserved: t.resource(u.State.Reserved), Pending: t.resource(u.Pending)}}},
	}
	out.Resources.Usage = append(out.Resources.Usage, t.usages(q)...)
	if !q.Leaf() {
		out.Queues = &capacityQueues{}
		for _, c := range q.Children {
			out.Queues.Queue = append(out.Queues.Queue, t.queue(c))
		}
		return out
	}
	return t.leaf(q, u, out)
}

func (t *capacityTree) leaf(q *queue.Queue, u *view.QueueUse, base capacityQueue) capacityLeaf {
	state := &u.State
	queueLimit := t.amLimit(q)
	limit, held, userLimit := t.resource(queueLimit), t.resource(state.AMUsed), t.resource(state.UserAM.Min(queueLimit))
	shown := limit // without users it is the queue's limit
	if len(state.Users) > 0 {
		shown = t.resource(state.Users[0].AMShare.Min(queueLimit))
	}
	usage := &base.Resources.Usage[0]
	usage.AMUsed, usage.AMLimit, usage.UserAMLimit = &held, &limit, &userLimit
	return capacityLeaf{
		Type: "capacitySchedulerLeafQueueInfo", capacityQueue: base, Active: state.Active, Pending: len(u.Apps) - state.Active - (state.Apps - state.Runnable), // others are held by max-parallel-apps
		Containers: u.Live(), MaxApplications: u.Share.MaxApplications, MaxPerUser: u.Share.MaxApplicationsPerUser, UserLimit: q.UserLimit,
		Users: t.users(u, queueLimit), UserLimitFactor: q.UserLimitFactor, MaxAMShare: q.MaxAMShare, AMLimit: limit, AMUsed: held,
		UserAMLimit: shown, NoPreemption: q.NoPreemption, NoIntraPreemption: q.NoIntraPreemption,
		DefaultPriority: q.DefaultPriority, AutoCreated: q.Made == template.LegacyLeaf, MaxLifetime: q.MaxLifetime, DefaultLifetime: q.DefaultLifetime,
	}
}

// amLimit returns what ApplicationMasters may take of the queue's maximum, in steps of the smallest container, as is the maximum. YARN
// shows the value of its last update. The present limit, which depends on other queues' use, is shown with pending requests.
func (t *capacityTree) amLimit(q *queue.Queue) records.Resource {
	if !q.Leaf() {
		return records.Resource{}
	}
	calculator, share := quantity.Calculator{Dominant: t.Queues.Tree().Dominant}, &t.uses[q.Path].Share
	usable := calculator.TimesDown(share.Max, 1, t.MinAllocation).Max(share.Min)
	return calculator.TimesUp(usable, float64(q.MaxAMShare), t.MinAllocation)
}

func (t *capacityTree) users(u *view.QueueUse, queueLimit records.Resource) (out queueUsers) {
	none := t.resource(records.Resource{})
	for i := range u.State.Users {
		one := &u.State.Users[i]
		held, amLimit := t.resource(one.AMUsed), t.resource(one.AMShare.Min(queueLimit))
		elsewhere, more := t.userUsages(u, one.Name)
		out.User = append(out.User, queueUser{
			Name: one.Name, Used: t.resource(one.Used.Add(more)), Pending: one.Waiting, Active: one.Active, AMUsed: held,
			Limit: t.resource(one.Limit), Weight: float32(one.Weight), IsActive: one.Wanting > 0,
			Resources: partitions{append([]partitionUsage{{
				Used: t.resource(one.Used), Reserved: t.resource(one.Reserved), Pending: none, AMUsed: &held, AMLimit: &amLimit,
				UserAMLimit: &none,
			}}, elsewhere...)},
		})
	}
	return out
}
