package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// block handles the statements of a block.
func (w *walker) block(list []ast.Stmt) {
	for _, s := range list {
		w.droppable(s)
		w.stmt(s)
	}
}

// droppable enters the mutants that leave out a statement of a block, or exchange its operator.
func (w *walker) droppable(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && types.ExprString(call.Fun) == "panic" {
			return
		}
		w.drop(s, "")
	case *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		w.drop(s, "")
	case *ast.BranchStmt:
		if s.Tok == token.BREAK || s.Tok == token.CONTINUE {
			w.drop(s, "")
		}
	case *ast.ReturnStmt:
		if len(s.Results) == 0 {
			w.drop(s, "")
		}
	case *ast.IncDecStmt:
		by := token.DEC
		if s.Tok == token.DEC {
			by = token.INC
		}
		w.drop(s, w.exchange(s, s.TokPos, s.Tok, by))
	case *ast.AssignStmt:
		w.assignment(s)
	}
}

var assignments = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
	token.AND_ASSIGN: token.OR_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN, token.AND_NOT_ASSIGN: token.OR_ASSIGN, token.XOR_ASSIGN: token.OR_ASSIGN,
	token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
}

func (w *walker) assignment(s *ast.AssignStmt) {
	if s.Tok == token.DEFINE || allBlank(s.Lhs) {
		return
	}
	other := ""
	if by, ok := assignments[s.Tok]; ok && w.numeric(s.Lhs[0], types.IsNumeric) && !strings.Contains(w.written(s), "\n") {
		other = w.exchange(s, s.TokPos, s.Tok, by)
	}
	w.drop(s, other)
}

func allBlank(list []ast.Expr) bool {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// exchange enters the mutant that gives a statement another operator. It returns the text to put before the statement.
func (w *walker) exchange(s ast.Stmt, at token.Pos, was, by token.Token) string {
	from, to := w.at(at), w.at(at)+len(was.String())
	id := w.add(from, to, by.String())
	text := w.text[w.file]
	return fmt.Sprintf("if mutate_on(%d) { %s%s%s } else ", id, text[w.at(s.Pos()):from], by, text[to:w.at(s.End())])
}

// drop enters the mutant without the statement. front is the text for its other mutants.
func (w *walker) drop(s ast.Stmt, front string) {
	w.wrap(s, fmt.Sprintf("%sif !mutate_on(%d) { ", front, w.replaced(s, "")), " }")
}

// stmt handles the parts of a statement.
func (w *walker) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case nil:
	case *ast.ExprStmt:
		w.expr(s.X, plain)
	case *ast.SendStmt:
		w.expr(s.Value, plain)
	case *ast.IncDecStmt:
		w.expr(s.X, plain)
	case *ast.AssignStmt:
		for _, e := range s.Lhs {
			if _, ok := e.(*ast.Ident); !ok {
				w.expr(e, plain)
			}
		}
		w.exprs(s.Rhs, plain)
	case *ast.GoStmt:
		w.expr(s.Call, plain)
	case *ast.DeferStmt:
		w.expr(s.Call, plain)
	case *ast.ReturnStmt:
		w.returned(s)
	case *ast.BlockStmt:
		w.block(s.List)
	case *ast.IfStmt:
		w.stmt(s.Init)
		w.condition(s.Cond)
		w.block(s.Body.List)
		w.stmt(s.Else)
	case *ast.SwitchStmt:
		w.stmt(s.Init)
		w.expr(s.Tag, plain)
		w.cases(s)
	case *ast.TypeSwitchStmt:
		w.stmt(s.Init)
		for _, c := range s.Body.List {
			w.block(c.(*ast.CaseClause).Body)
		}
	case *ast.SelectStmt:
		for _, c := range s.Body.List {
			w.block(c.(*ast.CommClause).Body)
		}
	case *ast.LabeledStmt:
		w.stmt(s.Stmt)
	default:
		w.loop(s)
	}
}

func (w *walker) cases(s *ast.SwitchStmt) {
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		for _, e := range c.List {
			if s.Tag == nil {
				w.condition(e)
			} else if w.info.Types[e].Value == nil {
				w.expr(e, plain)
			}
		}
		w.block(c.Body)
	}
}

func (w *walker) loop(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ForStmt:
		w.stmt(s.Init)
		if s.Cond != nil && w.boolean(s.Cond) {
			w.call(s.Cond, "never", w.replaced(s.Cond, "false"))
			w.expr(s.Cond, decides)
		}
		w.stmt(s.Post)
		w.block(s.Body.List)
	case *ast.RangeStmt:
		w.expr(s.X, plain)
		if len(s.Body.List) > 0 {
			from, to := w.at(s.Body.Lbrace)+1, w.at(s.Body.Rbrace)
			w.rank++
			text := fmt.Sprintf(" if mutate_on(%d) { break };", w.add(from, to, " break "))
			w.edits = append(w.edits, edit{from: from, to: from, text: text, rank: w.rank})
		}
		w.block(s.Body.List)
	case *ast.DeclStmt:
		if d, ok := s.Decl.(*ast.GenDecl); ok {
			w.variables(d)
		}
	}
}

// returned handles a return: each of its results may be the zero value.
func (w *walker) returned(s *ast.ReturnStmt) {
	results := w.results[len(w.results)-1]
	if len(s.Results) == 1 && len(results) > 1 {
		zeros := "*new(" + strings.Join(results, "), *new(") + ")"
		w.wrap(s, fmt.Sprintf("if mutate_on(%d) { return %s }; ", w.add(w.at(s.Results[0].Pos()), w.at(s.End()), zeros), zeros), "")
		w.expr(s.Results[0], plain)
		return
	}
	for i, e := range s.Results {
		w.result(e, results[i])
		w.expr(e, plain)
	}
}

func (w *walker) result(e ast.Expr, of string) {
	tv := w.info.Types[e]
	if isPlainBool(tv.Type) {
		switch ast.Unparen(e).(type) {
		case *ast.BinaryExpr, *ast.UnaryExpr: // these have their own mutants
		default:
			if tv.Value == nil {
				w.call(e, "not", w.replaced(e, "!"+w.written(e)))
			}
		}
		return
	}
	if tv.IsNil() || tv.Value != nil && w.numeric(e, types.IsNumeric) || strings.Contains(of, "\n") {
		return
	}
	if c, ok := ast.Unparen(e).(*ast.CompositeLit); ok && len(c.Elts) == 0 || w.written(e) == `""` {
		return
	}
	w.call(e, "zero["+of+"]", w.replaced(e, "*new("+of+")"))
}
