package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// walker finds the mutants of a file, and the edits that switch between them.
type walker struct {
	*source
	file string
	ast  *ast.File
	next *int32 // the number of the next mutant

	fn      string
	results [][]string // the result types of the enclosing functions, as written
	rank    int

	mutants []*mutant
	edits   []edit
}

// mutate returns the mutants of a file, numbered from *next on, and the edits that make the file switch between them.
func mutate(s *source, file string, next *int32) ([]*mutant, []edit) {
	w := &walker{source: s, file: file, ast: s.files[file], next: next}
	for _, d := range w.ast.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			w.variables(d)
		case *ast.FuncDecl:
			if d.Body == nil {
				continue
			}
			w.fn = functionName(d)
			w.function(d.Type, d.Body)
			w.fn = ""
		}
	}
	return w.mutants, w.edits
}

func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	return types.ExprString(t) + "." + d.Name.Name
}

func (w *walker) variables(d *ast.GenDecl) {
	if d.Tok != token.VAR {
		return
	}
	for _, spec := range d.Specs {
		for _, v := range spec.(*ast.ValueSpec).Values {
			w.expr(v, plain)
		}
	}
}

func (w *walker) function(t *ast.FuncType, body *ast.BlockStmt) {
	var results []string
	if t.Results != nil {
		for _, f := range t.Results.List {
			for range max(1, len(f.Names)) {
				results = append(results, w.written(f.Type))
			}
		}
	}
	w.results = append(w.results, results)
	w.block(body.List)
	w.results = w.results[:len(w.results)-1]
}

func (w *walker) at(p token.Pos) int { return w.fset.Position(p).Offset }

func (w *walker) written(n ast.Node) string {
	return string(w.text[w.file][w.at(n.Pos()):w.at(n.End())])
}

// add enters a mutant that replaces the text between two offsets.
func (w *walker) add(from, to int, now string) int32 {
	text := w.text[w.file]
	id := *w.next
	*w.next++
	first := strings.LastIndexByte(string(text[:from]), '\n') + 1
	last := to + strings.IndexByte(string(text[to:])+"\n", '\n')
	w.mutants = append(w.mutants, &mutant{
		id: id, pkg: w.ImportPath, dir: w.Dir, file: w.file, fn: w.fn, line: 1 + strings.Count(string(text[:from]), "\n"),
		was: string(text[from:to]), now: now,
		before: string(text[first:last]),
		after:  string(text[first:from]) + now + string(text[to:last]),
	})
	return id
}

// replaced enters a mutant that replaces a node's text.
func (w *walker) replaced(n ast.Node, now string) int32 {
	return w.add(w.at(n.Pos()), w.at(n.End()), now)
}

// wrap puts text before and after a node.
func (w *walker) wrap(n ast.Node, open, closed string) {
	w.rank++
	from, to := w.at(n.Pos()), w.at(n.End())
	w.edits = append(w.edits,
		edit{from: from, to: from, text: open, rank: w.rank}, edit{from: to, to: to, text: closed, rank: w.rank, closes: true})
}

// call wraps a node in a call of a function of the switch.
func (w *walker) call(n ast.Node, function string, id int32) {
	w.wrap(n, fmt.Sprintf("mutate_%s(%d, ", function, id), ")")
}

// use says what an expression's value is for.
type use int

const (
	plain   use = iota
	decides     // it is a condition, or a side of one: another mutant makes it always true or false
)

// condition handles the condition of an if or a case.
func (w *walker) condition(e ast.Expr) {
	if w.boolean(e) {
		id := w.replaced(e, "true")
		w.replaced(e, "false")
		w.call(e, "cond", id)
	}
	w.expr(e, decides)
}

// boolean reports whether an expression is a bool that isn't constant.
func (w *walker) boolean(e ast.Expr) bool {
	tv := w.info.Types[e]
	return tv.Value == nil && isPlainBool(tv.Type)
}

func isPlainBool(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

func (w *walker) exprs(list []ast.Expr, u use) {
	for _, e := range list {
		w.expr(e, u)
	}
}

func (w *walker) expr(e ast.Expr, u use) {
	if e == nil {
		return
	}
	tv := w.info.Types[e]
	switch {
	case tv.IsType():
		return
	case tv.Value != nil:
		w.constant(e, tv)
		return
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		w.expr(e.X, u)
	case *ast.FuncLit:
		w.function(e.Type, e.Body)
	case *ast.CompositeLit:
		w.composite(e)
	case *ast.SelectorExpr:
		w.expr(e.X, plain)
	case *ast.IndexExpr:
		w.expr(e.X, plain)
		w.expr(e.Index, plain)
	case *ast.IndexListExpr:
		w.expr(e.X, plain)
	case *ast.SliceExpr:
		w.exprs([]ast.Expr{e.X, e.Low, e.High}, plain)
	case *ast.TypeAssertExpr:
		w.expr(e.X, plain)
	case *ast.StarExpr:
		w.expr(e.X, plain)
	case *ast.CallExpr:
		w.arguments(e)
	case *ast.UnaryExpr:
		w.unary(e, u)
	case *ast.BinaryExpr:
		w.binary(e, u)
	}
}

func (w *walker) constant(e ast.Expr, tv types.TypeAndValue) {
	b, ok := tv.Type.Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsUntyped != 0 && b.Kind() != types.UntypedBool {
		return
	}
	switch {
	case isPlainBool(tv.Type):
		w.call(e, "not", w.replaced(e, fmt.Sprint(!constant.BoolVal(tv.Value))))
	case b.Info()&types.IsNumeric != 0 && b.Info()&types.IsComplex == 0:
		name, ok := w.typeName(tv.Type)
		if !ok {
			return
		}
		text := w.written(e)
		w.call(e, "more["+name+"]", w.replaced(e, text+" + 1"))
		if _, plainly := tv.Type.(*types.Basic); plainly && constant.Sign(tv.Value) > 0 {
			w.call(e, "less["+name+"]", w.replaced(e, text+" - 1"))
		}
	}
}

// typeName returns a type as the file can write it.
func (w *walker) typeName(t types.Type) (string, bool) {
	var o *types.TypeName
	switch t := t.(type) {
	case *types.Named:
		o = t.Obj()
	case *types.Alias:
		o = t.Obj()
	case *types.Basic:
		return t.Name(), true
	default:
		return "", false
	}
	if o.Pkg() == w.types {
		return o.Name(), o.Parent() == w.types.Scope()
	}
	for _, i := range w.ast.Imports {
		if strings.Trim(i.Path.Value, `"`) != o.Pkg().Path() || !o.Exported() {
			continue
		}
		name := o.Pkg().Name()
		if i.Name != nil {
			name = i.Name.Name
		}
		return name + "." + o.Name(), true
	}
	return "", false
}

func (w *walker) composite(e *ast.CompositeLit) {
	isStruct := false
	if t := w.info.Types[e].Type; t != nil {
		_, isStruct = types.Unalias(t).Underlying().(*types.Struct)
		if p, ok := t.Underlying().(*types.Pointer); ok {
			_, isStruct = p.Elem().Underlying().(*types.Struct)
		}
	}
	for _, elt := range e.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			w.expr(elt, plain)
			continue
		}
		if tv := w.info.Types[kv.Value]; isStruct && tv.Value == nil && !tv.IsNil() && !isUntyped(tv.Type) && !isElided(kv.Value) {
			w.call(kv.Value, "zero", w.add(w.at(kv.Pos()), w.at(kv.End()), ""))
		}
		w.expr(kv.Value, plain)
	}
}

func isElided(e ast.Expr) bool {
	c, ok := e.(*ast.CompositeLit)
	return ok && c.Type == nil
}

func isUntyped(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsUntyped != 0
}

// arguments handles the arguments of a call.
func (w *walker) arguments(e *ast.CallExpr) {
	w.expr(e.Fun, plain)
	switch name := types.ExprString(e.Fun); {
	case name == "errors.New" || name == "fmt.Errorf" || name == "panic" || name == "new" || name == "slices.Grow":
	case name == "make":
		if _, ok := w.info.Types[e].Type.Underlying().(*types.Slice); ok && len(e.Args) == 2 {
			w.expr(e.Args[1], plain)
		}
	default:
		w.exprs(e.Args, plain)
	}
}

func (w *walker) unary(e *ast.UnaryExpr, u use) {
	switch e.Op {
	case token.NOT:
		if u != decides && w.boolean(e) {
			w.call(e, "not", w.replaced(e, w.written(e.X)))
		}
		w.expr(e.X, decides)
		return
	case token.SUB:
		if w.numeric(e, types.IsNumeric) {
			w.edits = append(w.edits, edit{from: w.at(e.OpPos), to: w.at(e.OpPos) + 1, rank: w.rank + 1, text: fmt.Sprintf("mutate_minus(%d, ", w.replaced(e, w.written(e.X)))})
			w.rank++
			w.edits = append(w.edits, edit{from: w.at(e.End()), to: w.at(e.End()), text: ")", rank: w.rank, closes: true})
		}
	}
	w.expr(e.X, plain)
}

// numeric reports whether an expression is a number (or whatever info says) whose type isn't a type parameter.
func (w *walker) numeric(e ast.Expr, info types.BasicInfo) bool {
	t := w.info.Types[e].Type
	if _, parameter := t.(*types.TypeParam); t == nil || parameter {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0 && b.Info()&(types.IsComplex|types.IsUntyped) == 0
}

// exchanged maps an operator to its replacement, and to the function that switches between the two.
var exchanged = map[token.Token]struct {
	by   token.Token
	name string
	of   types.BasicInfo
}{
	token.LSS: {token.LEQ, "LSS", types.IsNumeric | types.IsString}, token.LEQ: {token.LSS, "LEQ", types.IsNumeric | types.IsString},
	token.GTR: {token.GEQ, "GTR", types.IsNumeric | types.IsString}, token.GEQ: {token.GTR, "GEQ", types.IsNumeric | types.IsString},
	token.ADD: {token.SUB, "ADD", types.IsNumeric}, token.SUB: {token.ADD, "SUB", types.IsNumeric},
	token.MUL: {token.QUO, "MUL", types.IsNumeric}, token.QUO: {token.MUL, "QUO", types.IsNumeric},
	token.REM: {token.QUO, "REM", types.IsInteger},
	token.AND: {token.OR, "AND", types.IsInteger}, token.OR: {token.AND, "OR", types.IsInteger},
	token.XOR: {token.OR, "XOR", types.IsInteger}, token.AND_NOT: {token.AND, "NOT", types.IsInteger},
	token.SHL: {token.SHR, "SHL", types.IsInteger}, token.SHR: {token.SHL, "SHR", types.IsInteger},
}

// negated maps a comparison to its negation.
var negated = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
}

func (w *walker) binary(e *ast.BinaryExpr, u use) {
	from, to := w.at(e.OpPos), w.at(e.OpPos)+len(e.Op.String())
	if e.Op == token.LAND || e.Op == token.LOR {
		w.side(e.X, e.Op)
		w.side(e.Y, e.Op)
		return
	}
	if not, ok := negated[e.Op]; ok && u != decides && w.boolean(e) {
		w.call(e, "not", w.add(from, to, not.String()))
	}
	other, ok := exchanged[e.Op]
	function := other.name
	ok = ok && w.numeric(e.X, other.of)
	if e.Op == token.SHL || e.Op == token.SHR { // either side may be an untyped constant
		of, named := w.typeName(w.info.Types[e].Type)
		function += "[" + of + "]"
		ok = ok && named
	} else {
		ok = ok && w.numeric(e.Y, other.of)
	}
	if ok {
		w.call(e, function, w.add(from, to, other.by.String()))
		w.edits = append(w.edits, edit{from: from, to: to, text: ","})
	}
	if _, comparison := negated[e.Op]; comparison && ok {
		// Adding or subtracting one has the same effect as exchanging < and <=.
		for _, side := range []ast.Expr{e.X, e.Y} {
			if w.info.Types[side].Value == nil {
				w.expr(side, plain)
			}
		}
		return
	}
	w.expr(e.X, plain)
	w.expr(e.Y, plain)
}

// side handles a side of && or ||: a mutant ignores it.
func (w *walker) side(e ast.Expr, op token.Token) {
	inner, _ := ast.Unparen(e).(*ast.BinaryExpr)
	sides := inner != nil && inner.Op == op // mutants of its own sides cover it
	if w.boolean(e) && !sides {
		if op == token.LAND {
			w.call(e, "always", w.replaced(e, "true"))
		} else {
			w.call(e, "never", w.replaced(e, "false"))
		}
	}
	w.expr(e, decides)
}
