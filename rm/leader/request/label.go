package request

import (
	"cmp"
	"slices"
	"strings"

	"heddle/rm/leader/refusal"
	"heddle/rm/queue"
	"heddle/rm/queue/label"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
)

// Labels are the labels of nodes that a cluster has. nil: labels are off.
type Labels interface {
	Known(name string) bool
}

// LabelSettings say which labels requests get.
type LabelSettings struct {
	// ForMasters is the label of ApplicationMasters whose own requests name none, instead of their application's and their queue's; empty: none.
	ForMasters string
	// LendToMasters has those without a label get idle nodes of labels that aren't exclusive, as others do.
	LendToMasters bool
	// Enforced are labels that an application has for all that it asks for, or for nothing: its submission says which (Hadoop: SchedulerUtils.enforcePartitionExclusivity).
	Enforced []string
}

// enforce returns what a row for any node says, or what its application says instead, if either names one of the labels that are enforced.
func enforce(enforced []string, own, application *string) *string {
	named := func(said *string) bool { return said != nil && slices.Contains(enforced, *said) }
	if named(own) || named(application) {
		return application
	}
	return own
}

// A label expression that isn't said is nil. One that is empty stands for nodes without a label.

func saidOf(has bool, text string) *string {
	if !has {
		return nil
	}
	return &text
}

// expressionOf returns what a submission says for all that its application asks for.
func expressionOf(ctx *pb.ApplicationSubmissionContext) *string {
	return saidOf(ctx.HasNodeLabelExpression(), ctx.GetNodeLabelExpression())
}

// labelOf returns the label of a row of a request in a queue: its own, or else the application's, or else the queue's. Only rows for any node have one
// (Hadoop: SchedulerUtils.normalizeAndValidateRequest, whose words and order these are).
func (c *Checker) labelOf(path, place string, own, application *string) (string, error) {
	if own == nil && place == scheduler.Any {
		own = application
	}
	if c.Labels == nil && own != nil && *own != "" {
		return "", refusal.New(refusal.InvalidLabel, "Invalid resource request, node label not enabled but request contains label expression")
	}
	tree := c.Queues()
	q := tree.Above(path) // of a queue that is to be made, the one above
	if own == nil && place == scheduler.Any && tree.Kind == queue.Capacity {
		own = &q.DefaultLabel
	}
	if own == nil || strings.TrimSpace(*own) == "" {
		return "", nil
	}
	name, expression, may := strings.TrimSpace(*own), *own, q.Labels
	if tree.Kind != queue.Capacity { // the queues of other schedulers may use none
		may = nil
	}
	switch queueName := path[strings.LastIndexByte(path, '.')+1:]; {
	case place != scheduler.Any:
		return "", refusal.New(refusal.InvalidLabel,
			"Invalid resource request, queue=%s specified node label expression in a resource request has resource name = %s", queueName, place)
	case strings.Contains(expression, "&&"):
		return "", refusal.New(refusal.InvalidLabel,
			"Invalid resource request, queue=%s specified more than one node label in a node label expression, node label expression = %s", queueName, expression)
	case !label.Has(may, name):
		return "", refusal.New(refusal.InvalidLabel, "Invalid resource request, queue=%s doesn't have permission to access all labels in resource request. "+
			"labelExpression of resource request=%s. Queue labels=%s", queueName, expression, strings.Join(may, ","))
	case c.Labels == nil || !c.Labels.Known(name):
		return "", refusal.New(refusal.InvalidLabel, "Invalid label resource request, cluster do not contain , label= %s", expression)
	}
	return name, nil
}

// LabelsOf returns the labels of nodes of which a queue may have something by its settings, sorted.
func (c *Checker) LabelsOf(path string) (names []string) {
	tree := c.Queues()
	q, ok := tree.Find(path)
	if !ok || c.Labels == nil {
		return nil
	}
	for _, name := range tree.LabelsOf(q) {
		if c.Labels.Known(name) && label.Has(q.Labels, name) {
			names = append(names, name)
		}
	}
	return names
}

// masterLabel returns the label of the ApplicationMaster of a submission to a queue. A row that names none counts as not said, but a submission that does is said.
func (c *Checker) masterLabel(ctx *pb.ApplicationSubmissionContext, row *pb.ResourceRequest, path string) (string, error) {
	own := saidOf(row.HasNodeLabelExpression(), row.GetNodeLabelExpression())
	if row.GetResourceName() != scheduler.Any {
		return c.labelOf(path, row.GetResourceName(), own, nil)
	}
	application := expressionOf(ctx)
	said := enforce(c.LabelSettings.Enforced, own, application)
	if said == nil || strings.TrimSpace(*said) == "" {
		if said = application; c.LabelSettings.ForMasters != "" {
			said = &c.LabelSettings.ForMasters
		}
	}
	return c.labelOf(path, scheduler.Any, said, nil)
}

// mastersStay reports whether ApplicationMasters without a label get no nodes with one, whatever these lend.
func (c *Checker) mastersStay() bool { return c.Labels != nil && !c.LabelSettings.LendToMasters }

// NoteLabel writes the label that was found for a submission's ApplicationMaster into the submission, so that it holds from then on.
func NoteLabel(ctx *pb.ApplicationSubmissionContext, asks []scheduler.Ask) {
	label := MasterLabel(asks)
	if label == "" {
		return
	}
	rows := ctx.GetAmContainerResourceRequest()
	if len(rows) == 0 {
		row := anywhere(ctx)
		row.SetNumContainers(1)
		row.SetPriority(&pb.Priority{})
		row.SetRelaxLocality(true)
		rows = []*pb.ResourceRequest{row}
		ctx.SetAmContainerResourceRequest(rows)
	}
	for _, row := range rows {
		if row.GetResourceName() == scheduler.Any {
			row.SetNodeLabelExpression(label)
		}
	}
}

// NotedLabel returns what NoteLabel has written.
func NotedLabel(ctx *pb.ApplicationSubmissionContext) string {
	for _, row := range ctx.GetAmContainerResourceRequest() {
		if row.GetResourceName() == scheduler.Any {
			return row.GetNodeLabelExpression()
		}
	}
	return ""
}

// MasterLabel returns the label of the container that asks for an ApplicationMaster are for, empty if it has none, or if there are no asks.
func MasterLabel(asks []scheduler.Ask) string {
	for i := range asks {
		if asks[i].Name == scheduler.Any {
			return asks[i].Label
		}
	}
	return ""
}

// Values of label fields of an application without labels (Hadoop: RMServerUtils, NodeLabelUtils).
const (
	NoLabel          = "<Not set>"
	DefaultPartition = "<DEFAULT_PARTITION>"
)

// ShownLabel returns an application's label as YARN shows it, which tells a submission that names no label from one that names the nodes without one.
func ShownLabel(submitted *pb.ApplicationSubmissionContext) string {
	if !submitted.HasNodeLabelExpression() {
		return NoLabel
	}
	return cmp.Or(submitted.GetNodeLabelExpression(), DefaultPartition)
}
