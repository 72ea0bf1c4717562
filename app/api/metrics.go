package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tandem/app/control"
	"tandem/engine"
)

// metrics are the figures of /metrics, in a registry of their own. No label holds anything that a
// client wrote.
type metrics struct {
	registry *prometheus.Registry
	scrape   http.Handler // writes all of them

	requests      *prometheus.CounterVec   // endpoint, code
	seconds       *prometheus.HistogramVec // endpoint
	firstToken    prometheus.Histogram
	betweenTokens prometheus.Histogram

	promptTokens, cachedTokens, completionTokens prometheus.Counter
	draftedTokens, acceptedTokens                prometheus.Counter
}

// newMetrics registers the figures. Each scrape calls state and active.
func newMetrics(state func() control.State, active func() int) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.scrape = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "tandem", Name: name,
			Help: help})
		m.registry.MustRegister(c)
		return c
	}
	gauge := func(name, help string, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "tandem",
			Name: name, Help: help}, value))
	}
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "tandem",
		Name: "requests_total",
		Help: "Requests to the generating routes by HTTP status."}, []string{"endpoint", "code"})
	m.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "tandem",
		Name:    "request_seconds",
		Help:    "From a request's arrival until its end.",
		Buckets: prometheus.ExponentialBuckets(0.01, 2, 16)}, []string{"endpoint"})
	m.firstToken = prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "tandem",
		Name:    "time_to_first_token_seconds",
		Help:    "From a request's arrival until its first token.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 16)})
	m.betweenTokens = prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "tandem",
		Name:    "inter_token_seconds",
		Help:    "Between two tokens of a request.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)})
	m.registry.MustRegister(m.requests, m.seconds, m.firstToken, m.betweenTokens,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	m.promptTokens = counter("prompt_tokens_total", "Tokens of prompts.")
	m.cachedTokens = counter("cached_tokens_total",
		"Tokens of prompts that were restored instead of evaluated.")
	m.completionTokens = counter("completion_tokens_total", "Generated tokens.")
	m.draftedTokens = counter("drafted_tokens_total", "Tokens proposed by a drafter.")
	m.acceptedTokens = counter("accepted_tokens_total", "Proposed tokens that the model accepted.")

	gauge("requests_in_flight", "Requests to the generating routes that have not ended.",
		func() float64 { return float64(active()) })
	gauge("queue_depth", "Requests that wait for their first chunk.", func() float64 {
		n := 0
		for _, l := range state().InMemory {
			n += l.Queued
		}
		return float64(n)
	})
	gauge("models_loaded", "Models in memory.",
		func() float64 { return float64(len(state().InMemory)) })
	gauge("mlx_active_bytes", "Memory that MLX arrays hold.",
		func() float64 { return float64(state().ActiveBytes) })
	gauge("mlx_peak_bytes", "The most memory that MLX arrays held since the start.",
		func() float64 { return float64(state().PeakBytes) })
	return m
}

func (m *metrics) request(endpoint string, status int, d time.Duration) {
	m.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(endpoint).Observe(d.Seconds())
}

func (m *metrics) tokens(t engine.Stats) {
	m.promptTokens.Add(float64(t.PromptTokens))
	m.cachedTokens.Add(float64(t.CachedTokens))
	m.completionTokens.Add(float64(t.CompletionTokens - t.Given))
	m.draftedTokens.Add(float64(t.Drafted))
	m.acceptedTokens.Add(float64(t.Accepted))
}
