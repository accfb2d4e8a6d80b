package ledger

import (
	"heddle/yarn/pb"
)

// maxAttempts is how many attempts an application keeps at least: one that is to run for ever may have any number.
const maxAttempts = 100

// remains is what an application that has ended keeps of its submission: what lists, reports and rights need. The rest is what its
// ApplicationMaster was started with: files, environment, commands, and credentials, which are nobody's business any more.
func remains(ctx *pb.ApplicationSubmissionContext) *pb.ApplicationSubmissionContext {
	kept := &pb.ApplicationSubmissionContext{}
	if ctx.HasApplicationId() {
		kept.SetApplicationId(ctx.GetApplicationId())
	}
	if ctx.HasApplicationName() {
		kept.SetApplicationName(Head(ctx.GetApplicationName(), MaxName))
	}
	if ctx.HasApplicationType() {
		kept.SetApplicationType(Head(ctx.GetApplicationType(), MaxName))
	}
	if ctx.HasNodeLabelExpression() {
		kept.SetNodeLabelExpression(Head(ctx.GetNodeLabelExpression(), MaxName))
	}
	if ctx.HasUnmanagedAm() {
		kept.SetUnmanagedAm(ctx.GetUnmanagedAm())
	}
	kept.SetApplicationTags(ctx.GetApplicationTags())
	if lists := ctx.GetAmContainerSpec().GetApplication_ACLs(); len(lists) > 0 {
		spec := &pb.ContainerLaunchContext{}
		spec.SetApplication_ACLs(lists)
		kept.SetAmContainerSpec(spec)
	}
	return kept
}

// forgetAttempts drops attempts that nobody counts any more, where there are too many: the oldest of those that are excused, or the
// oldest at all of an application whose failures are forgiven after a while. Its others are few.
func (a *Application) forgetAttempts() {
	for len(a.Attempts) > max(maxAttempts, int(a.MaxAttempts)) {
		i := a.forgettable()
		if i < 0 {
			return
		}
		a.Attempts = append(a.Attempts[:i:i], a.Attempts[i+1:]...)
	}
}

func (a *Application) forgettable() int {
	last := len(a.Attempts) - 1
	for i, t := range a.Attempts[:last] {
		if t.Excused {
			return i
		}
	}
	if a.Context.GetAttemptFailuresValidityInterval() > 0 {
		return 0
	}
	return -1
}
