package request

import (
	"strings"
	"testing"

	"heddle/rm/leader/refusal"
	"heddle/rm/queue"
	"heddle/yarn/pb"
)

type known []string

func (k known) Known(name string) bool {
	for _, n := range k {
		if n == name {
			return true
		}
	}
	return false
}

func labelled(t testing.TB) *Checker {
	t.Helper()
	tree, err := queue.ParseCapacity(map[string]string{
		"root.queues": "a,b,all,p", "root.a.capacity": "40", "root.b.capacity": "40", "root.all.capacity": "10", "root.p.capacity": "10", "root.p.queues": "c", "root.p.c.capacity": "100",
		"root.a.accessible-node-labels": "x,y", "root.a.default-node-label-expression": "x", "root.b.accessible-node-labels": " ",
		"root.p.accessible-node-labels": "y", "root.p.default-node-label-expression": "y",
	})
	if err != nil {
		t.Fatal(err)
	}
	now := start
	ch := checker(&cluster{}, &now)
	ch.Labels, ch.Queues = known{"x", "y"}, func() *queue.Tree { return tree }
	return ch
}

func said(text string) *string { return &text }

// The label of a request is its own, or else its application's, or else its queue's. An empty one is said, but in an ApplicationMaster's own row.
func TestWhichLabelARequestGets(t *testing.T) {
	ch := labelled(t)
	ch.LabelSettings.ForMasters = ""
	for _, test := range []struct {
		queue       string
		app, own    *string
		label, ofAM string
		masters     string
	}{
		{queue: "root.a", label: "x", ofAM: "x"},
		{queue: "root.a", own: said(""), label: "", ofAM: "x"},
		{queue: "root.a", own: said(" y "), label: "y", ofAM: "y"},
		{queue: "root.a", app: said("y"), label: "y", ofAM: "y"},
		{queue: "root.a", app: said(""), label: "", ofAM: ""}, // as a stock 3.4.2 answers
		{queue: "root.a", app: said("x"), own: said("y"), label: "y", ofAM: "y"},
		{queue: "root.p.c", label: "y", ofAM: "y"},
		{queue: "root.b", label: "", ofAM: ""},
		{queue: "root.all", label: "", ofAM: "y", masters: "y"},
		{queue: "root.all", app: said("x"), label: "x", ofAM: "y", masters: "y"}, // as a stock 3.4.2 answers
		{queue: "root.all", app: said("x"), own: said("x"), label: "x", ofAM: "x", masters: "y"},
		{queue: "root.a", label: "x", ofAM: "y", masters: "y"},
	} {
		ch.LabelSettings.ForMasters = test.masters
		ctx := &pb.ApplicationSubmissionContext{}
		if test.app != nil {
			ctx.SetNodeLabelExpression(*test.app)
		}
		any, host := row("*", 1, 256), row("n1", 1, 256)
		if test.own != nil {
			any.SetNodeLabelExpression(*test.own)
		}
		asks, err := ch.Asks(ctx, test.queue, []*pb.ResourceRequest{host, any})
		if err != nil || asks[0].Label != "" || asks[1].Label != test.label || asks[1].Stays {
			t.Errorf("%+v: %+v, %v", test, asks, err)
		}
		ctx.SetAmContainerResourceRequest([]*pb.ResourceRequest{any})
		asks, err = ch.ForMaster(ctx, test.queue)
		if err != nil || MasterLabel(asks) != test.ofAM || !asks[0].Stays {
			t.Errorf("the ApplicationMaster of %+v: %+v, %v", test, asks, err)
		}
		NoteLabel(ctx, asks)
		if got := NotedLabel(ctx); test.ofAM != "" && got != test.ofAM {
			t.Errorf("%q is on record of %+v", got, test)
		}
	}
	ch.LabelSettings.ForMasters = ""
	sized := &pb.ApplicationSubmissionContext{}
	sized.SetResource(capability(300, 1))
	asks, err := ch.ForMaster(sized, "root.a")
	if err != nil {
		t.Fatal(err)
	}
	if NoteLabel(sized, asks); NotedLabel(sized) != "x" {
		t.Errorf("on record: %v", sized)
	}
	ch.LabelSettings.LendToMasters = true
	if again, err := ch.ForMaster(sized, "root.a"); err != nil || MasterSize(again) != MasterSize(asks) || MasterLabel(again) != "x" || again[0].Stays {
		t.Errorf("%+v, %v", again, err)
	}
}

// As recorded of a stock 3.4.2.
func TestLabelsThatRequestsMayNotHave(t *testing.T) {
	ch := labelled(t)
	const denied = "doesn't have permission to access all labels in resource request. labelExpression of resource request="
	for _, test := range []struct{ queue, place, label, want string }{
		{"root.b", "*", "x", "Invalid resource request, queue=b " + denied + "x. Queue labels="},
		{"root.a", "*", "zz", "Invalid resource request, queue=a " + denied + "zz. Queue labels=x,y"},
		{"root.p.c", "*", "x", "Invalid resource request, queue=c " + denied + "x. Queue labels=y"},
		{"root.a", "*", "x && y", "Invalid resource request, queue=a specified more than one node label in a node label expression, node label expression = x && y"},
		{"root.all", "*", "x||y", "Invalid label resource request, cluster do not contain , label= x||y"},
		{"root.all", "*", "!x", "Invalid label resource request, cluster do not contain , label= !x"},
		{"root.a", "127.0.1.21", "x", "Invalid resource request, queue=a specified node label expression in a resource request has resource name = 127.0.1.21"},
	} {
		r := row(test.place, 1, 256)
		r.SetNodeLabelExpression(test.label)
		if asks, err := ch.Asks(nil, test.queue, []*pb.ResourceRequest{row("*", 1, 256), r}); asks != nil || !refusal.Is(err, refusal.InvalidLabel) || err.Error() != test.want {
			t.Errorf("%+v: %+v, %v", test, asks, err)
		}
	}
	fair := labelled(t)
	fair.Queues = func() *queue.Tree { return queue.Default(queue.Fair) }
	r := row("*", 1, 256)
	r.SetNodeLabelExpression("x")
	if _, err := fair.Asks(nil, "root.default", []*pb.ResourceRequest{r}); err == nil || !strings.HasSuffix(err.Error(), "labelExpression of resource request=x. Queue labels=") {
		t.Errorf("in Fair queues: %v", err)
	}
}

// Whatever an expression is, either it is a label that the queue may use and the cluster has, or it is refused.
func FuzzLabelExpressions(f *testing.F) {
	for _, text := range []string{"", " ", "x", " x ", "x&&y", "x||y", "!x", "*", "zz", "ä", "x\x00", strings.Repeat("x", 300)} {
		f.Add(text, true)
	}
	ch := labelled(f)
	f.Fuzz(func(t *testing.T, text string, any bool) {
		place := "n1"
		if any {
			place = "*"
		}
		for _, path := range []string{"root.a", "root.b", "root.all", "root.nowhere"} {
			label, err := ch.labelOf(path, place, &text, nil)
			switch {
			case err != nil && (label != "" || !refusal.Is(err, refusal.InvalidLabel)):
				t.Errorf("%q in %s: %q and %v", text, path, label, err)
			case err == nil && label != strings.TrimSpace(text), err == nil && label != "" && (!any || path == "root.b" || label != "x" && label != "y"):
				t.Errorf("%q in %s is %q", text, path, label)
			}
		}
	})
}

// An application has an enforced label for all that it asks for, or for nothing, whatever its requests say. Scheduling requests keep theirs, as in YARN.
func TestEnforcedLabels(t *testing.T) {
	ch := labelled(t)
	ch.LabelSettings.Enforced = []string{"x"}
	for _, test := range []struct {
		queue       string
		app, own    *string
		label, ofAM string
	}{
		{queue: "root.a", app: said("x"), own: said("y"), label: "x", ofAM: "x"},
		{queue: "root.a", app: said("x"), own: said(""), label: "x", ofAM: "x"},
		{queue: "root.a", app: said("x"), label: "x", ofAM: "x"},
		{queue: "root.a", app: said("y"), own: said("x"), label: "y", ofAM: "y"},
		{queue: "root.a", app: said(""), own: said("x"), label: "", ofAM: ""},
		{queue: "root.all", own: said("x"), label: "", ofAM: ""},
		{queue: "root.all", app: said("x"), own: said("x"), label: "x", ofAM: "x"},
		{queue: "root.all", app: said("y"), label: "y", ofAM: "y"},
		{queue: "root.all", own: said("y"), label: "y", ofAM: "y"},
	} {
		ctx := &pb.ApplicationSubmissionContext{}
		if test.app != nil {
			ctx.SetNodeLabelExpression(*test.app)
		}
		any, host := row("*", 1, 256), row("n1", 1, 256)
		if test.own != nil {
			any.SetNodeLabelExpression(*test.own)
		}
		rows := []*pb.ResourceRequest{host, any}
		if asks, err := ch.Asks(ctx, test.queue, rows); err != nil || asks[0].Label != "" || asks[1].Label != test.label {
			t.Errorf("%+v: %+v, %v", test, asks, err)
		}
		if asks, err := ch.All(ctx, test.queue, nil, rows, false); test.own != nil && (err != nil || asks[1].Label != *test.own) {
			t.Errorf("%+v as a scheduling request: %+v, %v", test, asks, err)
		}
		ctx.SetAmContainerResourceRequest([]*pb.ResourceRequest{any})
		if asks, err := ch.ForMaster(ctx, test.queue); err != nil || MasterLabel(asks) != test.ofAM {
			t.Errorf("the ApplicationMaster of %+v: %+v, %v", test, asks, err)
		}
	}
}
