package ledger

import (
	"heddle/rm/ledger/limit"
	"heddle/yarn/pb"
)

// maxAttempts is how many attempts an application keeps. One that may fail again and again can have any number.
const maxAttempts = 100

// remains is what an ended application keeps of its submission: what lists, reports and rights need. The rest (files, environment,
// commands, credentials) was for starting its ApplicationMaster, and is nobody's business any more.
func remains(ctx *pb.ApplicationSubmissionContext) *pb.ApplicationSubmissionContext {
	kept := &pb.ApplicationSubmissionContext{}
	if ctx.HasApplicationId() {
		kept.SetApplicationId(ctx.GetApplicationId())
	}
	if ctx.HasApplicationName() {
		kept.SetApplicationName(limit.Head(ctx.GetApplicationName(), limit.MaxName))
	}
	if ctx.HasApplicationType() {
		kept.SetApplicationType(limit.Head(ctx.GetApplicationType(), limit.MaxName))
	}
	if ctx.HasNodeLabelExpression() {
		kept.SetNodeLabelExpression(limit.Head(ctx.GetNodeLabelExpression(), limit.MaxName))
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

// forgetAttempts drops attempts of an application that has too many: first the oldest excused ones, whose failures count no more. If
// the application's failures are forgiven after a while, it drops the oldest of all. Other applications have few attempts.
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
