package auth

import (
	"net/http"
	"strconv"
	"strings"

	"heddle/yarn/rest"
)

// Delegations issues, renews and checks tokens that let their bearers act for a user. Tokens are in the form for URLs.
type Delegations interface {
	// Issue makes a token for user. realUser is who asks for it, or "" if that is user.
	Issue(user, realUser, renewer string) (token string, err error)
	// Renew extends a token's validity, and returns until when, in ms since 1970.
	Renew(user, token string) (until int64, err error)
	Cancel(user, token string) error
	// Verify returns the user that a token's bearer may act for, and the user that obtained it.
	Verify(token string) (user, realUser string, err error)
}

// The headers and the parameter that carry tokens. YARN before Hadoop 3 used the second header.
const (
	tokenHeader    = "X-Hadoop-Delegation-Token"
	oldTokenHeader = "Hadoop-YARN-Auth-Delegation-Token"
	tokenParameter = "delegation"
)

// operations on tokens, with their HTTP methods. Any path accepts one as the parameter op (Hadoop:
// DelegationTokenAuthenticator.DelegationTokenOperation).
var operations = map[string]string{
	"GETDELEGATIONTOKEN": http.MethodGet, "RENEWDELEGATIONTOKEN": http.MethodPut, cancelOperation: http.MethodPut,
}

const cancelOperation = "CANCELDELEGATIONTOKEN"

func is(name string) func(string) bool { return func(key string) bool { return key == name } }

// bearer identifies by a token who makes a request. known says whether there is a token.
func (f *Filter) bearer(r *http.Request, query pairs) (id Identity, known bool, err error) {
	if f.Delegations == nil || !f.Delegation {
		return id, false, nil
	}
	text, _ := query.first(is(tokenParameter))
	for _, name := range []string{oldTokenHeader, tokenHeader} {
		if v := r.Header.Get(name); v != "" {
			text = v
		}
	}
	if text == "" {
		return id, false, nil
	}
	user, realUser, err := f.Delegations.Verify(text)
	return f.bearerOf(user, realUser), true, err
}

// bearerOf returns the identity of a token's bearer. Tokens have full names of Kerberos.
func (f *Filter) bearerOf(user, realUser string) Identity {
	id := Identity{User: user, Real: realUser, Method: Bearer}
	if f.Tickets == nil {
		return id
	}
	id.Full = user
	if realUser != "" {
		id.Full = realUser
	}
	for _, name := range []*string{&id.User, &id.Real} {
		if short, err := f.short(*name); err == nil {
			*name = short
		}
	}
	return id
}

// operation returns the operation on tokens that a request asks for, "" for none.
func (f *Filter) operation(r *http.Request, query pairs) string {
	if f.Delegations == nil || !f.Delegation || r.Method == http.MethodOptions {
		return ""
	}
	op, _ := query.first(is("op"))
	if op = strings.ToUpper(op); operations[op] == "" {
		return ""
	}
	return op
}

// cancels reports whether a request cancels a token, for which the token is enough.
func (f *Filter) cancels(r *http.Request, query pairs) bool {
	return f.Tickets != nil && f.operation(r, query) == cancelOperation
}

// operate carries out an operation on tokens. done is false if the request asks for none.
func (f *Filter) operate(w http.ResponseWriter, r *http.Request, query pairs, id Identity, known bool) (done bool) {
	op := f.operation(r, query)
	if op == "" {
		return false
	}
	method := operations[op]
	switch {
	case r.Method != method:
		rest.ErrorPage(w, r, http.StatusBadRequest, "Wrong HTTP method ["+r.Method+"] for operation ["+op+"], it should be ["+method+"]")
		return true
	case !rest.MayChange(r):
		rest.UnaskedChange(w, r)
		return true
	case !known && op != cancelOperation:
		f.refuse(w, r, nil)
		return true
	}
	text, given := query.first(is("token"))
	if op != "GETDELEGATIONTOKEN" && !given {
		rest.ErrorPage(w, r, http.StatusBadRequest, "Operation ["+op+"] requires the parameter [token]")
		return true
	}
	var answer any
	var err error
	switch op {
	case "GETDELEGATIONTOKEN":
		var t issued
		renewer, _ := query.first(is("renewer"))
		t.Token.Text, err = f.Delegations.Issue(id.User, id.Real, renewer)
		answer = t
	case "RENEWDELEGATIONTOKEN":
		var t renewed
		t.Until, err = f.Delegations.Renew(id.User, text)
		answer = t
	default:
		user := id.User
		if !known && f.Tickets != nil {
			user, _, err = f.Delegations.Verify(text)
		}
		if err == nil {
			err = f.Delegations.Cancel(user, text)
		}
		if err != nil {
			rest.ErrorPage(w, r, http.StatusNotFound, "Invalid delegation token, cannot cancel, "+err.Error())
			return true
		}
	}
	if err != nil {
		remoteException(w, rest.AuthenticationException, err)
		return true
	}
	w.Header().Set("Content-Type", "application/json")
	if answer != nil {
		b := rest.Document{Style: rest.Unwrapped, Value: answer}.JSON()
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		_, _ = w.Write(b)
	}
	return true
}

type issued struct {
	Token struct {
		Text string `yarn:"urlString"`
	} `yarn:"Token"`
}

type renewed struct {
	Until int64 `yarn:"long"`
}

type refusal struct {
	Message   string `yarn:"message"`
	Exception string `yarn:"exception"`
	Class     string `yarn:"javaClassName"`
}

// remoteException answers with a 403 in the form of Hadoop's filters (HttpExceptionUtils).
func remoteException(w http.ResponseWriter, class string, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write(rest.Document{
		Root: "RemoteException", Value: refusal{err.Error(), class[strings.LastIndexByte(class, '.')+1:], class},
	}.JSON())
}
