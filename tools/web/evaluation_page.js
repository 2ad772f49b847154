// The page that `doppio test --page` writes.
{
  const {title, evaluation} = JSON.parse(document.getElementById("data").textContent);
  document.body.append(html("header", {class: "top"}, html("h1", {}, title), themeButton()),
                       html("main", {}, html("div", {class: "grid"}, ...evaluationCards(evaluation))));
}
