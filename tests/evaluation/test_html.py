import re
from html.parser import HTMLParser
from pathlib import Path

from evaluation.charts import build_charts, format_number, thin, value_ticks
from evaluation.html import MOST_FAILURES, RunView, compare_runs, refresh_curves, render_html, view_run, write_html
from evaluation.report import build_report, score_episodes
from evaluation.runner import plan_episodes
from evaluation.runs import start_run
from tests.evaluation.samples import infrastructure_fault, make_episode, make_goals

VOID = {"meta", "br", "input", "line", "circle", "polyline", "link", "img"}


class Tags(HTMLParser):
    """Checks nesting and collects tags with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def sample_view(label: str, count: int = 3, faulty: int = 1) -> RunView:
    plans = plan_episodes(make_goals(count), seed=7)
    episodes = [
        make_episode(plan, infrastructure_fault() if number < faulty else None) for number, plan in enumerate(plans)
    ]
    scored = score_episodes(episodes)
    rows = [{"step": step, "train/reward": float(step), "val/reward": 2.0 * step, "kl": 0.1} for step in range(1, 4)]
    return RunView(label, build_report(scored, policy=label, goals="test", seed=7), scored, rows)


def test_the_page_loads_nothing_from_the_network():
    page = render_html([sample_view("scripted")], "Evaluation")
    for tag, attributes in Tags(page).seen:
        assert tag not in {"link", "img", "iframe"}
        assert "src" not in attributes
        assert not (attributes.get("href") or "").startswith("http")
    assert "url(" not in page
    assert "@import" not in page


def test_what_was_said_is_shown_as_text_and_never_as_markup():
    page = render_html([sample_view("scripted")], "<script>alert(1)</script>")
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "<b>bold" not in page
    assert page.count("<script>") == 1


def test_failures_come_first_with_whose_doing_it_was_and_why():
    page = render_html([sample_view("scripted")], "Evaluation")
    outcomes = re.findall(r'data-outcome="([^"]*)"', page)
    assert outcomes == ["infrastructure broke", "agent failed", "agent failed"]
    assert "APIConnectionError" in page
    assert "untold: hotel phone" in page or "unnamed: hotel" in page


def test_runs_stand_side_by_side():
    tags = Tags(render_html([sample_view("scripted"), sample_view("grpo")], "Quickstart"))
    assert [tag for tag, attributes in tags.seen if tag == "th" and attributes.get("scope") == "col"] == ["th"] * 3
    assert {attributes["data-run"] for _, attributes in tags.seen if "data-run" in attributes} == {"scripted", "grpo"}


def test_the_page_stays_small_when_much_failed():
    page = render_html([sample_view("grpo", count=MOST_FAILURES + 20, faulty=0)], "Evaluation")
    assert page.count('class="dialogue"') == MOST_FAILURES
    assert f"{MOST_FAILURES} of {MOST_FAILURES + 20} dialogues" in page
    assert len(page) < 500_000


def test_curves_can_be_refreshed_after_each_step(tmp_path: Path):
    with start_run(tmp_path, "run_train", {}, seed=7) as folder:
        empty = refresh_curves(folder, "Training").read_text()
        assert "<figure" not in empty
        page = ""
        for step in range(1, 4):
            folder.log_metrics(step, {"success": step / 4, "entropy": 1.0 / step})
            page = refresh_curves(folder, "Training").read_text()
    assert page.count("<figure") == 2
    assert "0.25 at step 1, 0.75 at step 3" in page
    Tags(page)


def test_a_stored_report_is_shown_with_the_configuration(tmp_path: Path):
    view = sample_view("scripted")
    assert view.report is not None
    with start_run(tmp_path, "run_eval", {"policy": "scripted"}, seed=7) as folder:
        folder.report_json.write_text(view.report.model_dump_json())
        page = write_html(folder.report_html, [view_run(folder, "scripted")], "Evaluation").read_text()
    assert "grounded success" in page
    assert folder.started_with.revision[:12] in page


def test_evaluations_and_training_are_compared_on_one_page(tmp_path: Path):
    view = sample_view("scripted")
    assert view.report is not None
    for name in ("one", "two"):
        with start_run(tmp_path / name, "run_eval", {"policy": name}, seed=7) as folder:
            folder.append_episode(view.scored[1].episode)
            folder.report_json.write_text(view.report.model_dump_json())
    with start_run(tmp_path / "grpo", "run_train", {}, seed=7) as folder:
        folder.log_metrics(1, {"train/reward": 1.0})
    evaluations = {"ceiling": tmp_path / "one", "learned": tmp_path / "two"}
    reports = compare_runs(tmp_path / "all.html", evaluations, "Quickstart", {"GRPO": tmp_path / "grpo"})
    page = (tmp_path / "all.html").read_text()
    assert list(reports) == ["ceiling", "learned"]
    assert page.count("<figure") == 1
    assert page.count('class="dialogue"') == 2
    assert "<option>GRPO" not in page
    Tags(page)


def test_stages_of_a_metric_share_a_chart_and_known_metrics_lead():
    charts = build_charts({"grpo": [{"step": 1, "a/zeta": 1.0, "train/reward": 1.0, "val/reward": 2.0, "kl": 0.0}]})
    assert [chart.title for chart in charts] == ["reward", "kl", "zeta"]
    assert [line.label for line in charts[0].series] == ["train", "val"]


def test_the_ends_of_an_interval_are_a_band_and_no_chart_of_their_own():
    rows = [
        {"step": step, "train/reward": step * 1.0, "train/reward_low": 0.0, "train/reward_high": 5.0} for step in (1, 2)
    ]
    (chart,) = build_charts({"grpo": rows})
    assert chart.series[0].low == [(1.0, 0.0), (2.0, 0.0)]
    assert chart.svg.count("<polygon") == 1
    assert "2 at step 2 (0 to 5)" in chart.summary
    assert "95% intervals over the rollouts" in render_html([RunView("grpo", metrics=rows)], "GRPO")
    bare = [{"step": 1, "reward": 1.0, "share_low": 2.0}]
    assert [chart.title for chart in build_charts({"grpo": bare})] == ["reward", "share_low"]
    assert "95% intervals over the rollouts" not in render_html([RunView("grpo", metrics=bare)], "GRPO")


def test_the_stage_may_come_last():
    (chart,) = build_charts({"sft": [{"step": 1, "loss/train": 1.0}]})
    assert (chart.title, chart.series[0].label) == ("loss", "train")


def test_what_is_no_number_is_no_point():
    rows = [{"step": 1, "reward": float("nan"), "model": "x"}, {"step": 2, "reward": 3.0, "model": "y"}]
    (chart,) = build_charts({"run": rows})
    assert chart.series[0].points == [(2.0, 3.0)]


def test_long_curves_are_thinned_and_keep_their_ends():
    points = [(float(step), float(step)) for step in range(1000)]
    thinned = thin(points, most=100)
    assert len(thinned) == 100
    assert (thinned[0][0], thinned[-1][0]) == (0.0, 999.0)


def test_ticks_are_round_and_enclose_the_values():
    assert value_ticks(0.0, 1.0) == [0.0, 0.5, 1.0]
    assert value_ticks(-42.0, 74.0) == [-50.0, 0.0, 50.0, 100.0]
    assert value_ticks(3.0, 3.0)[0] < 3.0 < value_ticks(3.0, 3.0)[-1]
    assert value_ticks(0.0, 0.0)[0] < 0.0


def test_numbers_are_short():
    assert [format_number(value) for value in (0.0, -0.0, 1.0, 0.12346, 12345.6, 1e-7)] == [
        "0",
        "0",
        "1",
        "0.1235",
        "12,346",
        "1e-7",
    ]
