package server

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"tandem/app/api"
	"tandem/app/control"
	"tandem/app/wire"
)

// controlRoutes are the handlers of control routes, which the services of the program add.
type controlRoutes struct {
	api      *api.API
	state    func() control.State
	patterns map[string]map[string]wire.Handler // by path and method
}

// mount adds the routes of a service. Those of a nil service do not exist.
func mount[S any](to *controlRoutes, service S, add func(*controlRoutes, S)) {
	if any(service) != nil {
		add(to, service)
	}
}

// handle adds a route. Its handler reads In, calls do, and answers with Out as JSON. A body has the
// fields of In; see wire.Decode.
func handle[In, Out any](to *controlRoutes, route control.Route[In, Out],
	do func(context.Context, In) (Out, error)) {
	stream(to, route, func(w http.ResponseWriter, r *http.Request, in In) error {
		out, err := do(r.Context(), in)
		if err != nil {
			return err
		}
		fillLists(reflect.ValueOf(&out).Elem())
		return wire.WriteJSON(w, out)
	})
}

// stream adds a route whose handler writes the answer itself.
func stream[In, Out any](to *controlRoutes, route control.Route[In, Out],
	do func(http.ResponseWriter, *http.Request, In) error) {
	raw(to, route, func(w http.ResponseWriter, r *http.Request) error {
		in, err := read(to.api, route, w, r)
		if err != nil {
			return err
		}
		return do(w, r, in)
	})
}

// raw adds a route whose handler reads the request itself as well.
func raw[In, Out any](to *controlRoutes, route control.Route[In, Out], h wire.Handler) {
	if to.patterns[route.Path] == nil {
		to.patterns[route.Path] = map[string]wire.Handler{}
	}
	to.patterns[route.Path][route.Method] = h
}

// read reads In from a request: first the parameters, then the body.
func read[In, Out any](a *api.API, route control.Route[In, Out], w http.ResponseWriter,
	r *http.Request) (in In, err error) {
	if in, err = route.ReadParams(r); err != nil || !route.HasBody() {
		return in, err
	}
	f, err := a.ReadObject(w, r)
	if err != nil {
		return in, err
	}
	switch p := any(&in).(type) {
	case *control.SettingsChange: // has any names, because the store knows which settings exist
		*p = f.Values
		return in, nil
	case *string: // a parameter
		return in, wire.Decode(f, new(control.None))
	}
	return in, wire.Decode(f, &in)
}

// ask adapts a function without input to handle.
func ask[Out any](do func(context.Context) (Out, error)) func(context.Context, control.None) (Out,
	error) {
	return func(ctx context.Context, _ control.None) (Out, error) { return do(ctx) }
}

// done adapts a function without output to handle.
func done[In any](do func(context.Context, In) error) func(context.Context, In) (control.None,
	error) {
	return func(ctx context.Context, in In) (control.None, error) {
		return control.None{}, do(ctx, in)
	}
}

// thenState adapts a function to a route that answers with the state after it.
func thenState[In any](to *controlRoutes,
	do func(context.Context, In) error) func(context.Context, In) (control.State, error) {
	return func(ctx context.Context, in In) (control.State, error) {
		err := do(ctx, in)
		return to.state(), err
	}
}

// echo adapts a function without output to a route that answers with its input.
func echo[In any](do func(context.Context, In) error) func(context.Context, In) (In, error) {
	return func(ctx context.Context, in In) (In, error) { return in, do(ctx, in) }
}

// fillLists makes the lists of a struct empty that are nil, so that they are never null in JSON.
func fillLists(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for field, v := range v.Fields() {
		isList := v.Kind() == reflect.Slice && field.Type.Elem().Kind() != reflect.Uint8
		if isList && v.IsNil() && !strings.Contains(field.Tag.Get("json"), ",omit") {
			v.Set(reflect.MakeSlice(field.Type, 0, 0))
		}
	}
}
