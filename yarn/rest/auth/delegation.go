package auth

import (
	"net/http"
	"strconv"
	"strings"

	"heddle/yarn/rest"
)

// Delegations hands out tokens with which their bearers act for somebody, and takes them. Tokens are texts for URLs.
type Delegations interface {
	// Issue makes a token for a user; realUser is who asks for it, "" if that is the user himself.
	Issue(user, realUser, renewer string) (token string, err error)
	// Renew makes a token good for longer, until the time in ms since 1970 that it returns.
	Renew(user, token string) (until int64, err error)
	Cancel(user, token string) error
	// Verify says whom a token lets its bearer act for, and who asked for it.
	Verify(token string) (user, realUser string, err error)
}

// Headers and the parameter that carry tokens; the second header is that of YARN before Hadoop 3.
const (
	tokenHeader    = "X-Hadoop-Delegation-Token"
	oldTokenHeader = "Hadoop-YARN-Auth-Delegation-Token"
	tokenParameter = "delegation"
)

// operations on tokens, which any path takes as the parameter op, with the method of each (Hadoop:
// DelegationTokenAuthenticator.DelegationTokenOperation).
var operations = map[string]string{
	"GETDELEGATIONTOKEN": http.MethodGet, "RENEWDELEGATIONTOKEN": http.MethodPut, "CANCELDELEGATIONTOKEN": http.MethodPut,
}

func is(name string) func(string) bool { return func(key string) bool { return key == name } }

// bearer finds out by a token who makes a request. known is whether there is a token.
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
	return Identity{User: user, Real: realUser, Method: "TOKEN"}, true, err
}

// operate does what a request wants done with tokens. done is whether it was for that.
func (f *Filter) operate(w http.ResponseWriter, r *http.Request, query pairs, id Identity, known bool) (done bool) {
	if f.Delegations == nil || !f.Delegation || r.Method == http.MethodOptions {
		return false
	}
	op, _ := query.first(is("op"))
	op = strings.ToUpper(op)
	method, ok := operations[op]
	if !ok {
		return false
	}
	switch {
	case r.Method != method:
		rest.ErrorPage(w, r, http.StatusBadRequest, "Wrong HTTP method ["+r.Method+"] for operation ["+op+"], it should be ["+method+"]")
		return true
	case !known && op != "CANCELDELEGATIONTOKEN":
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
		if err = f.Delegations.Cancel(id.User, text); err != nil {
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

// remoteException is a 403 in the form that Hadoop's filters have (HttpExceptionUtils).
func remoteException(w http.ResponseWriter, class string, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write(rest.Document{
		Root: "RemoteException", Value: refusal{err.Error(), class[strings.LastIndexByte(class, '.')+1:], class},
	}.JSON())
}
